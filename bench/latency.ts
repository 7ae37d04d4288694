/** `npm run bench latency`: what a call costs against a bare spawn of the same shell in the same run. */
import { spawn } from 'node:child_process';
import { percentile, say, startMeasured } from './support.ts';

const ROUNDS = 200;

async function time(count: number, run: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < count; n++) {
    const began = performance.now();
    await run();
    times.push(performance.now() - began);
  }
  return times;
}

const bare = (): Promise<void> =>
  new Promise((resolve) => {
    const child = spawn('/bin/bash', ['-c', 'echo hi'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.resume();
    child.stderr.resume();
    child.on('close', () => resolve());
  });

const server = await startMeasured();
const call = (): Promise<unknown> => server.call('shell_execute', { command: 'echo hi' });
await time(30, call);
await time(30, bare);
const spawns: number[] = [];
const calls: number[] = [];
// Taken in turns, so that a busy moment of the machine falls on both.
for (let n = 0; n < 4; n++) {
  spawns.push(...(await time(ROUNDS / 4, bare)));
  calls.push(...(await time(ROUNDS / 4, call)));
}
const ratio = percentile(calls, 0.5) / percentile(spawns, 0.5);
say(
  `bare spawn p50 ${percentile(spawns, 0.5).toFixed(1)} ms; call p50 ${percentile(calls, 0.5).toFixed(1)} ms, p95 ${percentile(calls, 0.95).toFixed(1)} ms; ratio ${ratio.toFixed(2)}`,
);

const began = performance.now();
await Promise.all(Array.from({ length: 200 }, call));
say(`200 calls at once: ${Math.round(performance.now() - began)} ms`);
await server.close();
