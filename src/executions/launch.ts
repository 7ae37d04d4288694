/** Starts an execution whose pipes this server holds: foreground, adaptive and background. */
import type { Sink, StreamType } from '../outputs/types.ts';
import type { LaunchPermit } from '../security/security.ts';
import { startCapture } from './capture.ts';
import type { Cgroups } from './cgroup.ts';
import { createEnding } from './ending.ts';
import type { Live } from './live.ts';
import type { Pipes } from './pipes.ts';
import { createTree } from './tree.ts';

export interface LaunchSpec {
  readonly id: string;
  readonly permit: LaunchPermit;
  readonly inputData: string | undefined;
  readonly sinks: ReadonlyMap<StreamType, Sink>;
  readonly wantsState: boolean;
}

export interface LaunchTools {
  readonly pipes: Pipes;
  readonly cgroups: Cgroups;
  readonly bootId: string;
  now(): number;
}

export async function launch(spec: LaunchSpec, tools: LaunchTools): Promise<Live> {
  const { permit, sinks } = spec;
  const group = tools.cgroups.create(spec.id);
  const capture = await startCapture(
    {
      argv: group?.joining(permit.argv, permit.environment) ?? permit.argv,
      environment: permit.environment,
      directory: permit.directory,
      inputData: spec.inputData,
      sinks,
      wantsState: spec.wantsState,
    },
    tools.pipes,
  ).catch((error: unknown) => {
    group?.remove();
    throw error;
  });
  const tree = createTree({
    leader: capture.identity,
    marker: permit.marker,
    group,
  });
  const ending = createEnding(capture, tree, { memoryLimitBytes: permit.maxMemoryBytes, now: tools.now });
  return {
    tree,
    process: {
      ...capture.identity,
      bootId: tools.bootId,
      marker: permit.marker,
      ...(group !== undefined && { group: group.path }),
    },
    finished: ending.finished,
    end: ending.end,
    request: ending.request,
    outputBytes: () => Math.max(0, ...[...sinks.values()].map((sink) => sink.totalBytes)),
    onOutput: capture.onOutput,
    state: capture.state,
  };
}
