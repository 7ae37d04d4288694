/**
 * `npm run bench sandbox`: what the wall adds to a command, with and without it in turns. Mostly it was built ahead;
 * commands that follow each other at once may find it half built.
 */
import { execFileSync } from 'node:child_process';
import { percentile, say, startMeasured } from './support.ts';

const ROUNDS = 40;
const VARIANTS = {
  'no sandbox': { MCP_SHELL_SECURITY_SANDBOX: 'off' },
  development: {},
  'sandbox preset': { MCP_SHELL_SECURITY_PRESET: 'sandbox' },
  'production preset': { MCP_SHELL_SECURITY_PRESET: 'production' },
};

const servers = await Promise.all(
  Object.entries(VARIANTS).map(async ([name, env]) => {
    const server = await startMeasured({ env });
    // A repository has protected files, as most workspaces have.
    execFileSync('git', ['init', '-q', server.work]);
    return { name, server, ahead: [] as number[], atOnce: [] as number[] };
  }),
);
for (const { server } of servers) {
  await server.call('shell_execute', { command: 'true' });
  await server.settled();
}
for (let round = -5; round < ROUNDS; round++) {
  // In turns, so that a busy moment of the machine falls on all.
  for (const { server, ahead, atOnce } of servers) {
    for (const times of [ahead, atOnce, atOnce, atOnce]) {
      const began = performance.now();
      await server.call('shell_execute', { command: 'true' });
      if (round >= 0) times.push(performance.now() - began);
    }
  }
}
for (const [what, kind] of [
  ['after a pause', 'ahead'],
  ['at once after one another', 'atOnce'],
] as const) {
  say(`${what}:`);
  const [without] = servers;
  const base = percentile(without?.[kind] ?? [], 0.5);
  for (const { name, [kind]: times } of servers) {
    const p50 = percentile(times, 0.5);
    say(
      `  ${name.padEnd(18)} p50 ${p50.toFixed(1)} ms, least ${Math.min(...times).toFixed(1)} ms; more than without: ${(p50 - base).toFixed(1)} ms`,
    );
  }
}
for (const { server } of servers) await server.close();
