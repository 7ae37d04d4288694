/**
 * The wrapper process of a detached execution. It outlives the server: it holds the pipes, copies the output to disk,
 * keeps the time limit, ends the tree, and leaves the outcome in the bundle for whichever server looks next.
 */
import { dirname, join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { encodeError, messageOf, ShellServerError } from '../../base/errors.ts';
import { isDiskFull } from '../../base/files.ts';
import { LIMITS } from '../../base/limits.ts';
import { silentLog } from '../../base/log.ts';
import { createOutputs, type Sink, type StreamType } from '../../outputs/outputs.ts';
import { type Cgroups, createCgroups } from '../cgroups/cgroups.ts';
import { type Launched, launch } from '../launch.ts';
import { readSpec, reply } from '../own-program.ts';
import { createPipes } from '../pipes.ts';
import { createSpawner, forkerBeside } from '../spawner.ts';
import { claimCause, leaveOutcome, reserveOutcome } from './outcome-files.ts';
import { type WrapperReply, type WrapperSpec, wrapperSpecSchema } from './wrapper-protocol.ts';

async function main(): Promise<void> {
  const spec = wrapperSpecSchema.parse(await readSpec(process.stdin));
  try {
    reserveOutcome(spec.bundle);
    const sinks = openSinks(spec);
    const cgroups = createCgroups();
    const { identity, group, ending } = await start(spec, sinks, cgroups);
    const started = { ...identity, ...(group !== undefined && { group: group.path }) };
    reply(process.stdout, started satisfies WrapperReply);
    const outcome = await ending.finished;
    cgroups.dispose();
    const isFull = [...sinks.values()].some((sink) => sink.problem() !== undefined);
    leaveOutcome(
      spec.bundle,
      isFull ? { ...outcome, errorCode: outcome.errorCode ?? 'EXECUTION_004' } : outcome,
    );
  } catch (error) {
    const code = isDiskFull(error) ? 'EXECUTION_004' : 'EXECUTION_001';
    const failure = error instanceof ShellServerError ? error : new ShellServerError(code, messageOf(error));
    reply(process.stdout, { error: encodeError(failure) } satisfies WrapperReply);
  }
}

async function start(
  spec: WrapperSpec,
  sinks: ReadonlyMap<StreamType, Sink>,
  cgroups: Cgroups,
): Promise<Launched> {
  const spawner = createSpawner(forkerBeside(process.argv[1] ?? ''));
  const pipes = createPipes(join(spec.bundle, 'pipes'), spawner, 4);
  const { id, permit, streams, inputData, timeoutMs } = spec;
  const io = { streams, openSinks: () => sinks, inputData, keepsState: false, timeoutMs };
  const tools = { pipes, cgroups, spawner, now: Date.now };
  const launched = await launch(id, permit, io, tools).finally(() => pipes.dispose());
  const end = (): void => {
    claimCause(spec.bundle, 'terminated');
    void launched.ending.end('terminated');
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end);
  return launched;
}

/** The server made the bundle; here it is written. */
function openSinks(spec: WrapperSpec): ReadonlyMap<StreamType, Sink> {
  const outputs = createOutputs({
    directory: dirname(spec.bundle),
    limits: { maxOutputBytes: spec.maxOutputBytes, tailBytes: LIMITS.outputTailBytes },
    retention: { maxAgeHours: 0, maxTotalBytes: 0, maxCount: 0 },
    clock: systemClock,
    log: silentLog,
  });
  const about = { owner: '', name: '', createdAtMs: 0, streams: spec.streams, isRunning: () => true };
  return outputs.adoptBundle({ id: spec.id, ...about }).openSinks();
}

await main();
