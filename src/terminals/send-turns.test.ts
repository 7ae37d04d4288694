/** Calls that type into one terminal at the same time, or that nobody waits for: each is judged by what the others typed. */
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWorld, type World } from '../../test/support/world.ts';
import { ShellServerError } from '../base/errors.ts';
import type { Caller, Typed } from './terminals.ts';

let world: World;
let free: World;
beforeAll(() => {
  world = createWorld({ settings: { security: { blockedCommands: ['touch'] } } });
  free = createWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await free[Symbol.asyncDispose]();
});

const caller = (signal = new AbortController().signal): Caller => ({
  principal: 'me',
  reader: '',
  client: { name: 'test' },
  requestId: 'req_test',
  signal,
});
const keys = (...names: string[]): Typed => ({ kind: 'keys', keys: names });
const text = (line: string): Typed => ({ kind: 'text', text: line, isEntered: false });
const run = (line: string): Typed => ({ kind: 'text', text: line, isEntered: true });
const WAIT = { pattern: undefined, idleMs: 100, timeoutMs: 20_000 };

async function open(shellType: 'bash' | 'sh', { terminals, directory, settings }: World) {
  const place = mkdtempSync(join(settings.defaultWorkdir, 'place-'));
  const { state } = await terminals.create(
    {
      shellType,
      dimensions: { columns: 100, rows: 20 },
      workingDirectory: place,
      environment: { HOME: directory },
      autoSaves: false,
    },
    caller(),
  );
  return {
    place,
    async send(typed: Typed, { wait = WAIT, signal }: { wait?: typeof WAIT; signal?: AbortSignal } = {}) {
      try {
        return await terminals.send(state.id, { typed, guard: undefined, wait }, caller(signal));
      } catch (error) {
        if (signal?.aborted === true) return 'given up';
        if (error instanceof ShellServerError && error.code === 'SECURITY_003') return 'refused';
        throw error;
      }
    },
    close: () => terminals.close('me', state.id, false),
  };
}

const ROUNDS = 4;

test.for<['bash' | 'sh', readonly Typed[]]>([
  ['bash', [text('tou'), run('ch M')]],
  ['sh', [text('tou'), run('ch M')]],
  ['bash', [text('to'), text('uch'), run(' M')]],
  ['bash', [text('touch M'), keys('enter')]],
  ['bash', [text('echo "'), run('"; touch M #')]],
  ['bash', [run('cat <<X'), run('X'), run('touch M')]],
])('in %s what would be refused one after the other is refused at once: %j', async ([shell, parts]) => {
  const terminal = await open(shell, world);
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all(parts.map((part) => terminal.send(part)));
    await terminal.send(keys('ctrl+c'));
  }
  expect(existsSync(join(terminal.place, 'M'))).toBe(false);
  await terminal.close();
});

test.each([0, 1, 3, 10, 30])('nor is it run when the first is given up after %i ms', async (ms) => {
  const terminal = await open('bash', world);
  for (let round = 0; round < ROUNDS; round++) {
    const begun = terminal.send(text('tou'), {
      wait: { ...WAIT, idleMs: 5000 },
      signal: ms === 0 ? AbortSignal.abort() : AbortSignal.timeout(ms),
    });
    await Promise.all([begun, terminal.send(run('ch M'))]);
    await terminal.send(run('ch M'));
    await terminal.send(keys('ctrl+c'));
  }
  expect(existsSync(join(terminal.place, 'M'))).toBe(false);
  await terminal.close();
});

/** Who knows the number of the shell's marks can print them. */
const FORGED = String.raw`printf '\e]133;D;0;himBs;emacs;aid=%s\a\e]133;B;aid=%s\a' "$__mcp_nonce" "$__mcp_nonce"`;

test.for<[string, readonly string[]]>([
  ['a quote', ["echo '", "echo ok '; touch M; echo '", "'"]],
  ['a here-document', ["cat <<'X'", "'", 'X', "echo ok '; touch M; echo '", "'"]],
  ['a line that goes on', ['echo "\\', 'a"; echo "; touch M; "']],
  ['a group', ['{', "echo ' ; }; touch M; echo '"]],
  ['history', ['set -H', 'echo xouch M', '!-2:s/echo x/t/', '!-1:s/echo x/t/', '^echo x^t^']],
])('forged marks make nothing of %s', async ([, lines]) => {
  const terminal = await open('bash', world);
  const go = join(terminal.place, 'go');
  const forging = `until [ -e done ]; do sleep 0.02; if [ -e go ]; then ${FORGED}; ${FORGED}; rm go; fi; done`;
  await terminal.send(run(`(${forging}) &`));
  for (const line of lines) {
    await terminal.send(run(line));
    // What was known before the marks came may have refused it.
    if (line !== lines[0]) await terminal.send(run(line));
    writeFileSync(go, '');
    await expect.poll(() => existsSync(go)).toBe(false);
  }
  expect(existsSync(join(terminal.place, 'M'))).toBe(false);
  await terminal.send(keys('ctrl+c'));
  await terminal.send(run('>done'));
  await expect.poll(() => existsSync(join(terminal.place, 'done'))).toBe(true);
  await terminal.close();
});

test('calls that come at once are typed in their order, and one that waits holds up none', async () => {
  const terminal = await open('bash', free);
  const file = (name: string): string => join(terminal.place, name);
  const waiting = terminal.send(run('until [ -e go ]; do sleep 0.02; done'), {
    wait: { ...WAIT, idleMs: 2000 },
  });
  const numbers = Array.from({ length: 20 }, (_, n) => n);
  await Promise.all(numbers.map((n) => terminal.send(run(`echo ${n} >> all`))));
  expect(existsSync(file('all'))).toBe(false);
  writeFileSync(file('go'), '');
  await waiting;
  await expect.poll(() => readFileSync(file('all'), 'utf8')).toBe(`${numbers.join('\n')}\n`);
  await terminal.close();
});
