import { expect, test } from 'vitest';
import { type InstructionFacts, instructionsFor } from './instructions.ts';

const FACTS: InstructionFacts = {
  shell: '/bin/bash',
  platform: 'linux x64',
  host: 'host',
  user: 'me',
  defaultDirectory: '/work',
  allowedDirectories: undefined,
  workspace: ['/work'],
  network: 'off',
};

const about = (sandbox: InstructionFacts['sandbox']): string => instructionsFor({ ...FACTS, sandbox });

test('what a sandbox does with the network is said', () => {
  expect(about({ kind: 'bubblewrap' })).toContain('network off');
});

test.for([
  [['/work'], 'write to /work and a private /tmp;'],
  [['/work', '/tmp'], 'write to /work, /tmp;'],
] as const)('only a /tmp that is not among the allowed directories is private: %j', ([workspace, said]) => {
  expect(instructionsFor({ ...FACTS, workspace, sandbox: { kind: 'bubblewrap' } })).toContain(said);
});

test.for([
  { kind: 'container' },
  { kind: 'none' },
  { kind: 'none', problem: 'bubblewrap is not installed' },
] as const)('what nobody does with the network is not: $kind', (sandbox) => {
  expect(about(sandbox)).toContain('not restricted by this server');
  expect(about(sandbox)).not.toContain('network off');
});

test.for(['container', 'none'] as const)(
  'a network that is there though the settings have it off is warned of: %s',
  (kind) => {
    expect(about({ kind, openNetwork: ['eth0'] })).toContain('WARNING: the settings have the network off');
    expect(about({ kind })).not.toContain('WARNING');
  },
);

test('that everything is refused is said, with the reason', () => {
  expect(about({ kind: 'none', problem: 'no bubblewrap', refuses: true })).toMatch(
    /Every command is denied: the sandbox is unavailable \(no bubblewrap\)/,
  );
});
