/** Terminals in large numbers: nothing that a program writes before its end is lost, and as many as there may be at once. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createCgroups } from '../../src/executions/processes.ts';
import type { LaunchPermit } from '../../src/security/security.ts';
import { startTerminal } from '../../src/terminals/host/terminal.ts';
import { startProduct } from '../e2e/support/product.ts';
import { openTerminal } from '../e2e/support/terminal.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(realpathSync(tmpdir()), 'terminals-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const RUNS = 1000;
const AT_ONCE = 4;

test(`of ${RUNS} programs that write 129 KB and end, none loses a byte`, async () => {
  const expected = Buffer.from(Array.from({ length: 20_000 }, (_, index) => `${index + 1}\r\n`).join(''));
  const cgroups = createCgroups();
  let lost = 0;
  async function run(number: number): Promise<void> {
    const own = join(directory, `${number}`);
    mkdirSync(own);
    const terminal = await startTerminal(
      {
        id: `term_${number}`,
        owner: 'local',
        sessionName: 'stress',
        shell: 'sh',
        directory: own,
        dimensions: { columns: 80, rows: 24 },
        createdAtMs: Date.now(),
        autoSaves: false,
        permit: {
          argv: ['/bin/sh', '-c', 'seq 1 20000'],
          environment: { PATH: '/usr/bin:/bin', SHELL_TEST_RUN: process.env['SHELL_TEST_RUN'] ?? '' },
          directory,
          marker: `STRESS_MARK=${number}`,
          sandboxSpec: undefined,
          limits: {},
          masked: [],
          maxDurationMs: undefined,
        } as unknown as LaunchPermit,
        timeoutMs: undefined,
        maxBytes: 1024 * 1024,
        tailBytes: 1024,
        nonce: 'x',
        hasCommandMark: true,
        rules: '',
        isListed: false,
        command: undefined,
      },
      { directory, program: '', cgroups },
    );
    expect(await terminal.finished).toMatchObject({ exitCode: 0 });
    if (!readFileSync(join(own, 'raw')).equals(expected)) lost++;
    terminal.dispose();
    rmSync(own, { recursive: true });
  }
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < RUNS) await run(next++);
    }),
  );
  cgroups.dispose();
  expect(lost).toBe(0);
});

test('twenty at once all work, and there is no room for one more', async () => {
  const product = await startProduct();
  const terminals = await Promise.all(Array.from({ length: 20 }, () => openTerminal(product)));
  expect((await product.call('terminal_create', {})).data.error).toMatchObject({
    code: 'RESOURCE_005',
    details: { limit: 20 },
  });
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all(
      terminals.map((terminal, index) =>
        terminal.run(`seq ${index * 1000 + 1} ${index * 1000 + 500}; (exit ${index})`),
      ),
    );
    for (const [index, answer] of answers.entries())
      expect(answer).toMatchObject({
        wait_reason: 'command_done',
        exit_code: index,
        output: Array.from({ length: 500 }, (_, n) => `${index * 1000 + n + 1}\n`).join(''),
      });
  }
  const closed = await Promise.all(terminals.map((terminal) => terminal.close()));
  expect(closed.every(({ success }) => success)).toBe(true);
  expect((await product.call('terminal_list', {})).data.total_count).toBe(0);
  await product.close();
});
