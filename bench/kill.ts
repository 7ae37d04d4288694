/** `npm run bench kill`: ending fifty executions at once, against a bare SIGKILL to as many process groups. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile, say, startMeasured } from './support.ts';

const COUNT = 50;
const ROUNDS = 5;

for (const sandbox of ['auto', 'off']) {
  const server = await startMeasured({ env: { MCP_SHELL_SECURITY_SANDBOX: sandbox } });
  await server.call('shell_execute', { command: 'echo warm' });
  await server.settled();
  const [bare, ours]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    bare.push(await killBare());
    ours.push(await killOurs(server.call));
  }
  const [floor, median] = [percentile(bare, 0.5), percentile(ours, 0.5)];
  say(
    `sandbox ${sandbox}: ${COUNT} executions ended in ${median.toFixed(0)} ms, bare ${floor.toFixed(0)} ms, ratio ${(median / floor).toFixed(1)}`,
  );
  await server.close();
}

async function killBare(): Promise<number> {
  const children: ChildProcess[] = Array.from({ length: COUNT }, () =>
    spawn('bash', ['-c', 'sleep 600'], { stdio: 'ignore', detached: true }),
  );
  await sleep(300);
  const began = performance.now();
  await Promise.all(
    children.map((child) => {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
      return once(child, 'exit');
    }),
  );
  return performance.now() - began;
}

async function killOurs(
  call: (name: string, args: Record<string, unknown>) => Promise<Record<string, unknown>>,
): Promise<number> {
  const started = await Promise.all(
    Array.from({ length: COUNT }, () =>
      call('shell_execute', { command: 'sleep 600', execution_mode: 'background', timeout_seconds: 600 }),
    ),
  );
  await sleep(300);
  const began = performance.now();
  const ended = await Promise.all(
    started.map(({ execution_id }) => call('process_terminate', { execution_id, force: true })),
  );
  const failed = ended.filter(({ success }) => success !== true);
  if (failed.length > 0) throw new Error(`${failed.length} of ${COUNT} were not ended`);
  return performance.now() - began;
}
