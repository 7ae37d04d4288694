import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { needs } from '../../test/setup/needs.ts';
import { findLastPipeline } from '../security/security.ts';
import { parseState, parseStatuses, withReport } from './shell-report.ts';

interface Ran {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(shell: string, script: string, hasReport: boolean): { ran: Ran; report: Buffer } {
  const directory = mkdtempSync(join(tmpdir(), 'report-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const { status, signal, output } = spawnSync(shell, ['-c', script], {
    cwd: directory,
    env: { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'pipe', ...(hasReport ? (['pipe'] as const) : [])],
  });
  const [, stdout, stderr, report] = output;
  return {
    ran: { status, signal, stdout: String(stdout), stderr: sorted(String(stderr)) },
    report: Buffer.from(report ?? ''),
  };
}

/** Stages run at the same time, and trace in any order. */
const sorted = (text: string): string => text.split('\n').sort().join('\n');

/** As a caller would see it without the report, and with it. */
function compare(
  shell: string,
  command: string,
): { plain: Ran; reported: Ran; statuses: readonly number[] | undefined } {
  const stages = findLastPipeline(command);
  const script = stages && withReport(shell, command, { state: false, statuses: true });
  const { ran: reported, report } = run(shell, script ?? command, script !== undefined);
  return {
    plain: run(shell, command, false).ran,
    reported,
    statuses: stages && parseStatuses(report, stages.length),
  };
}

/** What the shells report at the end; zsh's only where it differs. */
type Row = [command: string, bash: readonly number[] | undefined, zsh?: readonly number[] | undefined];

const ROWS: readonly Row[] = [
  // Plain statuses.
  ['true | true', [0, 0]],
  ['false | true', [1, 0]],
  ['(exit 3) | cat | cat', [3, 0, 0]],
  ['false | (exit 5)', [1, 5]],
  ['no-such-program-here | cat', [127, 0]],
  ['echo a | grep b | cat', [0, 1, 0]],
  ['false |& cat', [1, 0]],
  ['sh -c "kill -9 \\$\\$" | cat', [137, 0]],
  ['echo out; echo err >&2; false | cat', [1, 0]],
  // $? and what follows a failure.
  ['(exit 7); echo $? | cat', [0, 0]],
  ['false; echo $? | cat', [0, 0]],
  ['echo $? | cat', [0, 0]],
  ['echo "[$!]" "$0" "$#" $LINENO | cat', [0, 0]],
  // Options.
  ['set -e; false | true', [1, 0]],
  ['set -e; false; echo not | cat', undefined],
  ['set -e; true | false', [0, 1]],
  ['set -o pipefail; false | true', [1, 0]],
  ['set -eo pipefail; false | true; echo not | cat', [1, 0]],
  ['set -eu; false | cat', [1, 0]],
  ['set -u; echo $nothing | cat; true | true', [0, 0]],
  ['set -x; false | cat', [1, 0]],
  ['set -f; echo * | cat', [0, 0], [1, 0]],
  ['set -n; false | cat', undefined],
  ['set -v; false | cat', undefined],
  ['set -C; echo x > there; echo y > there | cat', [1, 0]],
  ['set -a; X=5; env | grep -c ^X=', [0, 0]],
  ['IFS=x; false | cat', [1, 0]],
  ['IFS=; false | cat', [1, 0]],
  ['PATH=; false | cat', [1, 127]],
  // SIGPIPE, and reading only a part.
  ['yes | head -1', [141, 0]],
  ['seq 100000 | grep -q 5', [141, 0]],
  ['seq 3 | while read -r x; do echo "$x"; false; done | cat', [0, 1, 0]],
  // Lists.
  ['true && false | true', [1, 0]],
  ['false && false | true', undefined],
  ['false || false | true', [1, 0]],
  ['true || false | true', undefined],
  ['false | true || false | true', undefined],
  ['false | true; true | true', [0, 0]],
  ['true | true; false | true', [1, 0]],
  ['false | true; true', undefined],
  ['false | true & wait; echo x | cat', [0, 0]],
  ['sleep 0.05 & false | true', [1, 0]],
  ['sleep 0.05 & wait $!; false | true', [1, 0]],
  ['! false | true', undefined],
  // Groups, subshells and functions.
  ['{ echo a; false; } | cat', [1, 0]],
  ['(echo a; exit 4) | cat', [4, 0]],
  ['x() { return 6; }; x | cat', [6, 0]],
  ['x() { exit 6; }; x | cat', [6, 0]],
  ['x() { exit 6; }; x; false | cat', undefined],
  ['printf() { echo mine >&2; }; false | cat', [1, 0]],
  ['builtin() { echo mine >&2; }; true', undefined],
  ['cat() { command cat; return 3; }; echo a | cat', [0, 3]],
  ['(false | true)', undefined],
  ['if true; then false | true; fi', undefined],
  ['for i in 1 2; do echo $i; done | tail -1', [0, 0]],
  ['a=$(false | true); echo "$a" | cat', [0, 0]],
  ['cat <(echo a) | cat', [0, 0]],
  // Leaving early, replacing the shell, signals.
  ['exit 4; false | true', undefined],
  ['exit; false | true', undefined],
  ['false | true; exit 0', undefined],
  ['exec echo gone; false | true', undefined],
  ['exec 2>&1; no-such-program-here | cat', [127, 0]],
  ['exec >there; echo a | cat; false | cat', [1, 0]],
  ['kill -TERM $$; false | true', undefined],
  ['kill -KILL $$; false | true', undefined],
  ['kill -HUP $$; false | true', undefined],
  ['kill -INT $$; false | true', undefined],
  ['kill -USR1 $$; false | true', undefined],
  ['true | { kill -TERM $$; sleep 2; }', undefined],
  // Traps of the command itself.
  ["trap 'echo bye' EXIT; false | true", undefined],
  ["trap 'echo again' ERR; false | true", undefined],
  ["trap 'echo $?' DEBUG; false | true", undefined],
  ["trap 'echo term' TERM; kill -TERM $$; false | true", undefined],
  ['trap; echo x | cat', undefined],
  ["(trap 'echo inner' EXIT; exit 2) | cat", undefined],
  // Descriptors and input.
  ['echo a 3>there >&3 | cat', [0, 0]],
  ['exec 3>there; echo a >&3 | cat; false | cat', [1, 0]],
  ['{ echo a >&3; } 2>/dev/null | cat', [1, 0]],
  ['read -r x; false | cat', [1, 0]],
  ['cat | cat', [0, 0]],
  ['cat <<E | cat\nhello $((1+1))\nE', [0, 0]],
  ["cat <<'E' | tail -1\na\n$b\nE\n", [0, 0]],
  ['false | cat # comment', [1, 0]],
  ['#!/bin/sh\nfalse |\n  cat\n', [1, 0]],
  ['env | sort | grep -v "^_=\\|PWD="', [0, 0, 0]],
  ['cd / && pwd | cat', [0, 0]],
  ['echo a | sed s/a/b/ > there && cat there | cat', [0, 0]],
  // What only one of them knows.
  ['shopt -s lastpipe; echo a | read -r x; echo "$x" | cat', [0, 0]],
  ['false | { cat; exit 0; }', [1, 0], undefined],
  ['false | exec cat', [1, 0], undefined],
];

const SHELLS = [
  { name: 'bash', shell: '/bin/bash', isMissing: needs('bash') },
  { name: 'zsh', shell: '/usr/bin/zsh', isMissing: needs('zsh') },
];

describe.each(SHELLS)('a command in $name', ({ name, shell, isMissing }) => {
  test.skipIf(isMissing).each(ROWS.map((row) => ({ command: row[0], row })))(
    'does the same with a report as without: $command',
    ({ command, row }) => {
      const { plain, reported, statuses } = compare(shell, command);
      expect(reported).toEqual(plain);
      const expected = name === 'zsh' && row.length === 3 ? row[2] : row[1];
      expect(statuses).toEqual(expected);
    },
  );

  test.skipIf(isMissing)('reports statuses beside its state', () => {
    const script = withReport(shell, 'cd /; export A=b; false | true', { state: true, statuses: true });
    const { report } = run(shell, script ?? '', true);
    expect(parseStatuses(report, 2)).toEqual([1, 0]);
    const state = parseState(report);
    expect([state?.directory, state?.variables.get('A')]).toEqual(['/', 'b']);
  });
});

test.skipIf(needs('bash'))('a shell with few descriptors runs its command without a report', () => {
  const script = withReport('/bin/bash', 'echo a | cat; false | true', { state: false, statuses: true });
  const { status, stdout, stderr } = spawnSync(
    '/bin/sh',
    ['-c', 'ulimit -n 100; exec /bin/bash -c "$1"', 'sh', script ?? ''],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe', 'pipe'] },
  );
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'a\n', stderr: '' });
});

test.each([
  ['', 1],
  ['|1', 1],
  ['|1|0\0', 1],
  ['|1000|0\0', 2],
  ['|x|0\0', 2],
  ['1|0\0', 2],
  ['/tmp\0A=b\0', 1],
  [`${'|1'.repeat(5000)}\0`, 5000],
])('a report %j is not one of %i stages', (report, stages) => {
  expect(parseStatuses(Buffer.from(report), stages)).toBeUndefined();
});

test.each(['sh', 'dash', 'ksh', 'fish', 'python3'])('%s reports no statuses', (name) => {
  expect(withReport(`/bin/${name}`, 'a | b', { state: false, statuses: true })).toBeUndefined();
});
