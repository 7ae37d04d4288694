/**
 * `npm run bench sandbox`: what the wall adds to a command, with and without it in turns. Mostly it was built ahead;
 * commands that follow each other at once may find it half built, and the first one of a server finds none.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPlace, type Place } from '../test/e2e/support/product.ts';
import { type MeasuredServer, percentile, say, startMeasured } from './support.ts';

const ROUNDS = 40;
const STARTS = 12;
const RESTS = 12;
const VARIANTS = {
  'no sandbox': { MCP_SHELL_SECURITY_SANDBOX: 'off' },
  development: {},
  'sandbox preset': { MCP_SHELL_SECURITY_PRESET: 'sandbox' },
  'production preset': { MCP_SHELL_SECURITY_PRESET: 'production' },
};
type Variant = keyof typeof VARIANTS;
const VARIANT_NAMES = Object.keys(VARIANTS) as Variant[];

type Times = Record<Variant, number[]>;
type FiveTimes = [Times, Times, Times, Times, Times];
const newTimes = (): Times => ({
  'no sandbox': [],
  development: [],
  'sandbox preset': [],
  'production preset': [],
});

async function start(variant: Variant, place?: Place): Promise<MeasuredServer> {
  const server = await startMeasured({ env: VARIANTS[variant], ...(place !== undefined && { place }) });
  // A repository has protected files, as most workspaces have.
  execFileSync('git', ['init', '-q', server.work]);
  return server;
}

async function timed(server: MeasuredServer, more: Record<string, unknown> = {}): Promise<number> {
  const began = performance.now();
  const { exit_code: code } = await server.call('shell_execute', { command: 'true', ...more });
  if (code !== 0) throw new Error('the command failed');
  return performance.now() - began;
}

/** Where a server has been before: the very first one also copies what it needs of the system. */
async function measureFirst(): Promise<Times[]> {
  const [first, second] = [newTimes(), newTimes()];
  const places = VARIANT_NAMES.map((variant) => ({ variant, place: createPlace() }));
  for (let round = -1; round < STARTS; round++) {
    for (const { variant, place } of places) {
      const server = await start(variant, place);
      // As long as the quickest model thinks.
      await sleep(500);
      const times = [await timed(server), await timed(server)] as const;
      await server.close();
      if (round < 0) continue;
      first[variant].push(times[0]);
      second[variant].push(times[1]);
    }
  }
  for (const { place } of places) place.remove();
  return [first, second];
}

async function measureLater(): Promise<Times[]> {
  const servers: { readonly variant: Variant; readonly server: MeasuredServer }[] = [];
  for (const variant of VARIANT_NAMES) servers.push({ variant, server: await start(variant) });
  for (const { server } of servers) {
    await timed(server);
    await server.settled();
  }
  const [paused, rested, atOnce, input, directory] = Array.from({ length: 5 }, newTimes) as FiveTimes;
  for (let round = -1; round < RESTS; round++) {
    // What was looked at is old by then, and the processor has to begin anew.
    await sleep(3000);
    for (const { variant, server } of servers) {
      const time = await timed(server);
      if (round >= 0) rested[variant].push(time);
    }
  }
  for (let round = -5; round < ROUNDS; round++) {
    // In turns, so that a busy moment of the machine falls on all.
    for (const { variant, server } of servers) {
      const elsewhere = join(server.work, `directory-${round}`);
      mkdirSync(elsewhere);
      const all = {
        paused: [await timed(server)],
        atOnce: [await timed(server), await timed(server), await timed(server)],
        input: [await timed(server, { input_data: 'a line\n' })],
        directory: [await timed(server, { working_directory: elsewhere })],
      };
      if (round < 0) continue;
      paused[variant].push(...all.paused);
      atOnce[variant].push(...all.atOnce);
      input[variant].push(...all.input);
      directory[variant].push(...all.directory);
    }
  }
  for (const { server } of servers) await server.close();
  return [paused, rested, atOnce, input, directory];
}

function report(what: string, times: Times | undefined): void {
  if (times === undefined) return;
  say(`${what}:`);
  const without = percentile(times['no sandbox'], 0.5);
  for (const variant of VARIANT_NAMES) {
    const p50 = percentile(times[variant], 0.5);
    const least = Math.min(...times[variant]);
    say(
      `  ${variant.padEnd(18)} p50 ${p50.toFixed(1)} ms, least ${least.toFixed(1)} ms; more than without: ${(p50 - without).toFixed(1)} ms`,
    );
  }
}

const [first, second] = await measureFirst();
report('the first command of a server', first);
report('the second one, at once', second);
const [paused, rested, atOnce, input, directory] = await measureLater();
report('after some seconds', rested);
report('after others', paused);
report('at once after one another', atOnce);
report('at once, with input', input);
report('at once, in a directory of its own', directory);
