import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createPlace } from '../e2e/support/product.ts';
import { type RawProcess, startRaw } from '../e2e/support/raw-process.ts';

const ROUNDS = 100;

interface Answered {
  readonly n: number;
  readonly executionId: string;
}

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

interface Moment {
  readonly answers: number;
  readonly plusMs: number;
}

/** The moment is counted in answers, so that a slow machine is killed in the middle as well. */
async function answersUntilKilled(server: RawProcess, count: number, when: Moment): Promise<Answered[]> {
  const answered: Answered[] = [];
  const killAt = (answers: number) => {
    if (answers === when.answers) setTimeout(() => server.kill(), when.plusMs);
  };
  for (let n = 0; n < count; n++) {
    server.say(
      call(n, 'shell_execute', { command: `echo out-${n}; exit ${n % 4}`, execution_mode: 'foreground' }),
    );
  }
  killAt(0);
  for (;;) {
    try {
      const message = (await server.next()) as {
        id: number;
        result: { structuredContent: { execution_id: string } };
      };
      answered.push({ n: message.id, executionId: message.result.structuredContent.execution_id });
      killAt(answered.length);
    } catch {
      return answered;
    }
    if (answered.length === count) {
      await server.rest();
      return answered;
    }
  }
}

test(`${ROUNDS} rounds of kill -9 at random moments lose no finished execution`, async () => {
  const random = createRandom(20_261_115);
  let finished = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const place = createPlace();
    try {
      const victim = startRaw(place.command());
      victim.say(call(-1, 'shell_execute', { command: 'true' }));
      await victim.next();
      const answered = await answersUntilKilled(victim, 12, {
        answers: Math.floor(random() * 12),
        plusMs: random() * 20,
      });
      finished += answered.length;
      const next = startRaw(place.command());
      for (const { n, executionId } of answered) {
        next.say(call(n, 'process_get_execution', { execution_id: executionId }));
        const { result } = (await next.next()) as { result: { structuredContent: unknown } };
        expect(result.structuredContent, `round ${round}`).toMatchObject({
          status: n % 4 === 0 ? 'completed' : 'failed',
          exit_code: n % 4,
          stdout: `out-${n}\n`,
        });
      }
      next.say(call(99, 'process_list', { status_filter: 'running' }));
      const { result } = (await next.next()) as { result: { structuredContent: unknown } };
      expect(result.structuredContent, `round ${round}`).toMatchObject({ filtered_count: 0 });
      next.end();
      await next.rest();
    } finally {
      place.remove();
    }
  }
  // Killed in the middle: neither all before nor all after.
  expect(finished).toBeGreaterThan(ROUNDS);
  expect(finished).toBeLessThan(ROUNDS * 12);
});

test('20 servers on one state directory do not disturb each other', async () => {
  const place = createPlace();
  const servers = Array.from({ length: 20 }, () => startRaw(place.command()));
  try {
    for (const [n, server] of servers.entries()) {
      server.say(call(n, 'shell_execute', { command: `echo server-${n}; sleep 1; echo done-${n}` }));
    }
    await sleep(500);
    // Some are killed while the others work.
    for (const server of servers.slice(0, 5)) server.kill();
    const answers = await Promise.all(servers.slice(5).map((server) => server.next(30_000)));
    for (const [index, answer] of answers.entries()) {
      const n = index + 5;
      expect(answer).toMatchObject({
        id: n,
        result: { structuredContent: { stdout: `server-${n}\ndone-${n}\n` } },
      });
    }
  } finally {
    for (const server of servers) server.end();
    await Promise.all(servers.map((server) => server.rest()));
    place.remove();
  }
});

const canMount = process.platform === 'linux' && process.getuid?.() === 0;

test.runIf(canMount)('a disk that fills up stops nothing but what it cannot hold', async () => {
  const place = createPlace();
  execFileSync('mkdir', [place.stateDir]);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=700', 'tmpfs', place.stateDir]);
  const server = startRaw(place.command());
  try {
    server.say(
      call(1, 'shell_execute', {
        command: 'head -c 8000000 /dev/zero; echo end >&2',
        execution_mode: 'foreground',
      }),
    );
    const full = (await server.next()) as { result: { structuredContent: Record<string, unknown> } };
    expect(full.result.structuredContent).toMatchObject({ exit_code: 0, error_code: 'EXECUTION_004' });
    // Room that was taken ahead lets some commands run; each is answered in full or refused.
    let refusal: string | undefined;
    const answers = new Set<string>();
    for (let id = 100; refusal === undefined && id < 600; id++) {
      server.say(call(id, 'shell_execute', { command: 'echo more' }));
      const { result } = (await server.next()) as {
        result: { structuredContent: { stdout?: string; error?: { code: string } } };
      };
      const { stdout, error } = result.structuredContent;
      refusal = error?.code;
      answers.add(stdout ?? 'refused');
    }
    expect([...answers].filter((answer) => answer !== 'more\n')).toEqual(['refused']);
    expect(refusal).toMatch(/EXECUTION_004|SYSTEM_002/);
    const { output_id } = full.result.structuredContent;
    server.say(call(3, 'delete_execution_outputs', { output_ids: [output_id], confirm: true }));
    await server.next();
    server.say(call(4, 'shell_execute', { command: 'echo again' }));
    expect(await server.next()).toMatchObject({ result: { structuredContent: { stdout: 'again\n' } } });
  } finally {
    server.end();
    await server.rest();
    execFileSync('umount', [place.stateDir]);
    place.remove();
  }
});
