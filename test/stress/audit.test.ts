import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifyAudit } from '../../src/security/security.ts';
import { createPlace } from '../e2e/support/product.ts';
import { startRaw } from '../e2e/support/raw-process.ts';
import { storedExecutions } from '../support/stored.ts';

const ROUNDS = 100;
const AT_ONCE = 20;

/** Seeded, so that a failure can be repeated. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

const call = (id: number, name: string, args: object) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});

function commandsIn(audit: string): Set<unknown> {
  const lines = readdirSync(audit).flatMap((name) =>
    // The last one may be half a line.
    readFileSync(join(audit, name), 'utf8').split('\n').slice(0, -1),
  );
  const entries = lines.map((line) => JSON.parse(line) as { event: string; command?: string });
  return new Set(entries.filter(({ event }) => event === 'execution_allowed').map(({ command }) => command));
}

test(`${ROUNDS} rounds of kill -9 while ${AT_ONCE} executions run leave a log that verifies and names all of them`, async () => {
  const random = createRandom(20_261_116);
  // One directory for all rounds: each server is a witness of the log that the one before it left.
  const place = createPlace();
  const audit = join(place.stateDir, 'audit');
  const started = join(place.work, 'started');
  let named = 0;
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const server = startRaw(place.command([], { MCP_SHELL_SECURITY_SANDBOX: 'off' }));
      server.say(call(-1, 'shell_execute', { command: 'mkdir -p started' }));
      await server.next();
      for (let n = 0; n < AT_ONCE; n++) {
        const command = `: > started/${round}-${n}; sleep 0.0${n}; echo ${n}`;
        server.say(call(n, 'shell_execute', { command, execution_mode: 'foreground' }));
      }
      // Counted in answers, so that a slow machine is killed in the middle as well.
      const answers = Math.floor(random() * AT_ONCE);
      for (let n = 0; n < answers; n++) await server.next();
      setTimeout(() => server.kill(), random() * 20);
      await server.rest();

      const allowed = commandsIn(audit);
      for (const name of readdirSync(started).filter((each) => each.startsWith(`${round}-`))) {
        const n = Number(name.split('-')[1]);
        expect(allowed, `round ${round}`).toContain(`: > started/${round}-${n}; sleep 0.0${n}; echo ${n}`);
        named++;
      }
      const executions = (await storedExecutions(place.stateDir)).map(({ id }) => id);
      const { problems, heads } = verifyAudit({ directory: audit, executions });
      expect(problems, `round ${round}`).toEqual([]);
      expect(heads).toHaveLength(round + 1);
    }
    expect(named).toBeGreaterThan(ROUNDS);
  } finally {
    place.remove();
  }
});
