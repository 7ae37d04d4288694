import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { needs } from '../../test/setup/needs.ts';
import { resourceLimits } from './resource-limits.ts';

const MIB = 1024 * 1024;
const SHOW = 'cat /proc/self/limits';

function limitsAfter(shell: string, words: readonly string[]): Map<string, string> {
  const { stdout } = spawnSync(shell, ['-c', [...words, SHOW].join('; ')], { encoding: 'utf8' });
  return new Map(
    stdout
      .split('\n')
      .map((line) => [line.slice(0, 25).trim(), line.slice(25).trim().split(/\s+/).slice(0, 2).join(' ')]),
  );
}

test.skipIf(needs('bash')).for([
  { shell: '/bin/sh', blockBytes: 512 as const },
  { shell: '/bin/bash', blockBytes: 1024 as const },
])('the size of a file and of a core dump are limited to the byte in $shell', ({ shell, blockBytes }) => {
  const limits = limitsAfter(shell, resourceLimits({ fileBytes: 3 * MIB }, blockBytes));
  expect(limits.get('Max file size')).toBe(`${3 * MIB} ${3 * MIB}`);
  expect(limits.get('Max core file size')).toBe('0 0');
});

test('without a limit there are no words', () => {
  expect(resourceLimits({ fileBytes: undefined }, 512)).toEqual([]);
});
