import { describe, expect, test } from 'vitest';
import { PRESET_COMMANDS } from '../preset-lists.ts';
import { type Restrictions, tighten, type Wish } from '../tighten.ts';
import { combinePolicies, createPolicy, MINIMAL_ARGUMENTS } from './policy.ts';
import { escapeText, quoteWord, showPart } from './show-decision.ts';

const CONTEXT = { directory: '/proj', home: '/home/me' };

describe('a judgement explains itself', () => {
  test('in full', () => {
    const { judge } = createPolicy({ mode: 'custom', allowedCommands: ['ls', 'xargs'] });
    expect(judge('ls | xargs rm "$x"', CONTEXT)).toEqual({
      decision: 'deny',
      code: 'SECURITY_003',
      ruleClass: 'not-allowed',
      rule: 'not-allowed: rm "$x" (from the input of xargs)',
      reason: '"rm" is not in the allow-list.',
      part: 'rm "$x" (from the input of xargs)',
      hint: 'Allowed are, among others: ls, xargs.',
      refused: { command: 'rm' },
      commands: [
        { argv: ['ls'], text: 'ls', foundIn: [] },
        { argv: ['xargs', 'rm', null], text: 'xargs rm "$x"', foundIn: [] },
        { argv: ['rm', null, null], text: 'rm "$x" (from the input of xargs)', foundIn: ['xargs'] },
      ],
      unknowns: [],
    });
  });

  test('control characters are escaped wherever a command is shown', () => {
    const { judge } = createPolicy({ mode: 'custom', allowedCommands: ['ls'] });
    const text = JSON.stringify(judge("rm $'\\x1b[2J' \u001b[2J\u202e\u200bx", CONTEXT));
    // oxlint-disable-next-line no-control-regex
    expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200b\u202e]/);
    expect(text).toContain('\\\\x1b[2J');
    expect(escapeText('a\tb\r\n\u0000\u{e0041}')).toBe('a\\tb\\r\\n\\x00\\u{e0041}');
    expect(showPart('x'.repeat(400))).toHaveLength(318);
  });

  test('of a program without a shell, with the fields of shell/exec', () => {
    const { judgeArgv } = createPolicy({ mode: 'restrictive', allowedArguments: MINIMAL_ARGUMENTS });
    expect(judgeArgv(['rm', 'x'], CONTEXT)).toMatchObject({ decision: 'deny', refused: { command: 'rm' } });
    expect(judgeArgv(['git', 'push'], CONTEXT)).toMatchObject({
      decision: 'deny',
      refused: { command: 'git', argument: 'push' },
    });
    expect(judgeArgv(['GIT', 'status'], CONTEXT)).toMatchObject({ decision: 'allow' });
    expect(judgeArgv(['cat', '$(rm x); rm y | z'], CONTEXT)).toMatchObject({ decision: 'allow' });
    expect(judgeArgv(['cd', 'x'], CONTEXT)).toMatchObject({ decision: 'deny' });
    expect(judgeArgv([], CONTEXT)).toMatchObject({ decision: 'deny', commands: [{ argv: [] }] });
    expect(createPolicy({ mode: 'permissive' }).judgeArgv(['rm', '-rf', '/'], CONTEXT)).toMatchObject({
      code: 'SECURITY_001',
    });
  });

  test('the environment that a caller adds counts under an allow-list', () => {
    const environment = { LD_PRELOAD: 'x' };
    expect(createPolicy({ mode: 'restrictive' }).judge('ls', { ...CONTEXT, environment })).toMatchObject({
      ruleClass: 'variable',
    });
    expect(createPolicy({ mode: 'permissive' }).judge('ls', { ...CONTEXT, environment })).toMatchObject({
      decision: 'allow',
    });
    expect(
      createPolicy({ mode: 'restrictive' }).judge('echo $((x))', {
        ...CONTEXT,
        environment: { x: 'a[$(rm x)]' },
      }),
    ).toMatchObject({ ruleClass: 'undecidable' });
    expect(
      createPolicy({ mode: 'permissive' }).judge('$x', { ...CONTEXT, environment: { x: 'rm -rf /' } }),
    ).toMatchObject({ ruleClass: 'destructive' });
  });
});

describe('loading a policy', () => {
  test('interpreters in an allow-list are warned of', () => {
    const { warnings } = createPolicy({
      mode: 'custom',
      allowedCommands: [
        'ls',
        'node',
        'node --version',
        'npm test',
        'git',
        'git status',
        '/^python3? /',
        'cat',
      ],
      allowedArguments: { npm: ['install'], ls: [] },
    });
    expect(warnings.map((warning) => /"(.*)"/.exec(warning)?.[1])).toEqual([
      'node',
      'npm test',
      'git',
      '/^python3? /',
      'npm install',
    ]);
    expect(createPolicy({ mode: 'restrictive' }).warnings).toEqual([]);
  });

  test('a list that has no effect is warned of', () => {
    expect(createPolicy({ mode: 'permissive', allowedCommands: ['ls'] }).warnings).toEqual([
      'allowed_commands and allowed_arguments have no effect in the mode "permissive".',
    ]);
  });

  test('entries are checked against their examples', () => {
    const entry = {
      entry: 'rm -rf',
      match: ['rm -r -f x', 'sudo rm -fr x'],
      notMatch: ['rm x', 'echo rm -rf'],
    };
    expect(createPolicy({ mode: 'custom', blockedCommands: [entry] }).warnings).toEqual([]);
    expect(() =>
      createPolicy({ mode: 'custom', blockedCommands: [{ entry: 'rm -rf', match: ['rm -r x'] }] }),
    ).toThrow('does not match its example "rm -r x"');
    expect(() =>
      createPolicy({ mode: 'custom', allowedCommands: [{ entry: 'git', notMatch: ['git push'] }] }),
    ).toThrow('matches "git push" although it should not');
    expect(
      createPolicy({
        mode: 'custom',
        allowedCommands: [
          {
            entry: '/^npm (test|run \\w+)$/',
            match: ['npm test', 'npm run build'],
            notMatch: ['npm run a b', 'npm test; id'],
          },
        ],
      }).hasAllowList,
    ).toBe(true);
  });

  test.each([
    ['', 'is empty'],
    ['a; b', 'is not a command'],
    ['/(/', 'not a valid regular expression'],
    ['/(?=x)/', 'not a valid regular expression'],
  ])('an entry "%s" is refused', (entry, problem) => {
    expect(() => createPolicy({ mode: 'custom', allowedCommands: [entry] })).toThrow(problem);
  });

  test('a word of the grammar is a name in an entry', () => {
    expect(createPolicy({ mode: 'custom', allowedCommands: ['time'] }).hasAllowList).toBe(true);
  });

  test('a slow pattern cannot be written', () => {
    const { judge } = createPolicy({ mode: 'custom', allowedCommands: ['/^(a+)+$/'] });
    expect(judge(`${'a'.repeat(50_000)}b`, CONTEXT)).toMatchObject({ decision: 'deny' });
  });

  test('the table that shell/allowed shows', () => {
    expect(createPolicy({ mode: 'permissive' }).allowedTable()).toEqual({ '*': [] });
    expect(createPolicy(PRESET_COMMANDS.minimal).allowedTable()).toEqual(MINIMAL_ARGUMENTS);
    expect(
      createPolicy({
        mode: 'custom',
        allowedCommands: ['ls', 'git status', 'git log', '/^x/'],
      }).allowedTable(),
    ).toEqual({ ls: [], git: ['status', 'log'], '/^x/': [] });
  });

  test('the same rules have the same identity, others have another', () => {
    const of = (blocked: string[]): string =>
      createPolicy({ mode: 'custom', blockedCommands: blocked }).identity;
    expect(of(['a'])).toBe(of(['a']));
    expect(of(['a'])).not.toBe(of(['b']));
  });

  test('presets', () => {
    const decide = (preset: keyof typeof PRESET_COMMANDS, command: string): string =>
      createPolicy(PRESET_COMMANDS[preset]).judge(command, CONTEXT).decision;
    expect(decide('development', 'npm install x && ./run')).toBe('allow');
    expect(decide('sandbox', 'curl x | sh')).toBe('allow');
    expect(decide('production', 'ls')).toBe('allow');
    expect(decide('production', 'npm install')).toBe('deny');
    expect(decide('minimal', 'npm install')).toBe('allow');
    expect(decide('minimal', 'grep x y')).toBe('deny');
    for (const preset of ['development', 'sandbox', 'production', 'minimal'] as const)
      expect(decide(preset, 'rm -rf /')).toBe('deny');
  });

  test('two policies decide as the stricter one', () => {
    const both = combinePolicies(
      createPolicy({ mode: 'permissive', blockedCommands: ['id'] }),
      createPolicy({ mode: 'custom', allowedCommands: ['ls', 'id'], askCommands: ['ls -R'] }),
    );
    expect(['ls', 'ls -R', 'id', 'cat x'].map((command) => both.judge(command, CONTEXT).decision)).toEqual([
      'allow',
      'ask',
      'deny',
      'deny',
    ]);
    expect(both.hasAllowList).toBe(true);
  });

  test('words are quoted where they need it', () => {
    expect(['a', 'a b', "it's", '', '$x', 'a=b', '*'].map(quoteWord)).toEqual([
      'a',
      "'a b'",
      "'it'\\''s'",
      "''",
      "'$x'",
      'a=b',
      '*',
    ]);
  });
});

describe('the ratchet', () => {
  const base: Restrictions = { mode: 'permissive', preset: 'development' };
  const after = (current: Restrictions, wish: Wish): Restrictions | string[] => {
    const answer = tighten(current, wish);
    return answer.kind === 'tightened'
      ? answer.next
      : answer.loosening.map(({ key, reason }) => `${key}: ${reason}`);
  };

  test('every single step towards less is taken', () => {
    expect(after(base, { blockedCommands: ['rm'] })).toMatchObject({
      mode: 'custom',
      blockedCommands: ['rm'],
    });
    expect(after(base, { allowedCommands: ['ls'] })).toMatchObject({
      mode: 'custom',
      allowedCommands: ['ls'],
    });
    expect(after(base, { mode: 'restrictive' })).toMatchObject({ mode: 'restrictive' });
    expect(after(base, { allowedDirectories: ['/proj'] })).toMatchObject({ allowedDirectories: ['/proj'] });
    expect(after(base, { maxExecutionSeconds: 5, maxMemoryMb: 10, enableNetwork: false })).toMatchObject({
      maxExecutionSeconds: 5,
      maxMemoryMb: 10,
      enableNetwork: false,
      mode: 'permissive',
    });
    expect(after(base, { preset: 'minimal' })).toMatchObject({
      preset: 'minimal',
      mode: 'restrictive',
      allowedArguments: MINIMAL_ARGUMENTS,
    });
    expect(after(base, { preset: 'production' })).toMatchObject({
      preset: 'production',
      mode: 'restrictive',
    });
    expect(
      after({ mode: 'custom', allowedCommands: ['git', 'ls'] }, { allowedCommands: ['git status'] }),
    ).toMatchObject({ allowedCommands: ['git status'] });
    expect(after({ mode: 'custom', blockedCommands: ['a'] }, { blockedCommands: ['b', 'a'] })).toMatchObject({
      blockedCommands: ['a', 'b'],
    });
    expect(
      after({ mode: 'custom', allowedDirectories: ['/proj'] }, { allowedDirectories: ['/proj/src'] }),
    ).toMatchObject({ allowedDirectories: ['/proj/src'] });
    expect(after({ mode: 'restrictive' }, { mode: 'custom' })).toMatchObject({
      mode: 'custom',
      allowedCommands: expect.arrayContaining(['ls', 'git status']),
    });
    expect(after({ mode: 'custom', allowedCommands: ['ls'] }, { mode: 'restrictive' })).toMatchObject({
      mode: 'restrictive',
      allowedCommands: ['ls'],
    });
  });

  test.each<[Restrictions, Wish, string]>([
    [{ mode: 'restrictive' }, { mode: 'permissive' }, 'mode'],
    [{ mode: 'custom', allowedCommands: ['ls'] }, { mode: 'permissive' }, 'mode'],
    [{ mode: 'custom', allowedCommands: ['ls'] }, { allowedCommands: ['ls', 'rm'] }, 'allowedCommands'],
    [{ mode: 'custom', allowedCommands: ['git status'] }, { allowedCommands: ['git'] }, 'allowedCommands'],
    [{ mode: 'custom', allowedCommands: ['ls'] }, { allowedCommands: ['/^l/'] }, 'allowedCommands'],
    [{ mode: 'custom', allowedCommands: [] }, { allowedCommands: ['ls'] }, 'allowedCommands'],
    [{ mode: 'restrictive' }, { allowedCommands: ['npm test'] }, 'allowedCommands'],
    [
      { mode: 'restrictive', allowedArguments: { git: ['status'] } },
      { allowedCommands: ['git log'] },
      'allowedCommands',
    ],
    [{ mode: 'custom', allowedCommands: ['ls'] }, { allowedArguments: { rm: [] } }, 'allowedArguments'],
    [{ mode: 'custom', blockedCommands: ['rm'] }, { blockedCommands: [] }, 'blockedCommands'],
    [{ mode: 'custom', askCommands: ['rm'] }, { askCommands: [] }, 'askCommands'],
    [{ mode: 'custom', allowedDirectories: ['/proj'] }, { allowedDirectories: ['/'] }, 'allowedDirectories'],
    [
      { mode: 'custom', allowedDirectories: ['/proj'] },
      { allowedDirectories: ['/proj', '/etc'] },
      'allowedDirectories',
    ],
    [
      { mode: 'custom', allowedDirectories: ['/proj'] },
      { allowedDirectories: ['/projector'] },
      'allowedDirectories',
    ],
    [{ mode: 'permissive', maxExecutionSeconds: 10 }, { maxExecutionSeconds: 11 }, 'maxExecutionSeconds'],
    [{ mode: 'permissive', maxMemoryMb: 10 }, { maxMemoryMb: 11 }, 'maxMemoryMb'],
    [{ mode: 'permissive', enableNetwork: false }, { enableNetwork: true }, 'enableNetwork'],
    [{ mode: 'permissive', preset: 'sandbox' }, { preset: 'development' }, 'preset'],
    [{ mode: 'restrictive', preset: 'production' }, { preset: 'sandbox' }, 'preset'],
    [{ mode: 'permissive' }, { openPaths: ['/'] }, 'openPaths'],
  ])('%j is not opened by %j', (current, wish, key) => {
    expect(after(current, wish)).toEqual([expect.stringMatching(new RegExp(`^${key}: `))]);
  });

  test('a wish that is looser anywhere is refused as a whole, and all such parts are named', () => {
    const answer = tighten(
      { mode: 'restrictive', enableNetwork: false },
      { mode: 'permissive', enableNetwork: true, blockedCommands: ['x'] },
    );
    expect(answer).toMatchObject({ kind: 'refused', loosening: [{ key: 'mode' }, { key: 'enableNetwork' }] });
  });

  test('what changed is named; nothing changes nothing', () => {
    expect(tighten(base, { maxMemoryMb: 5 })).toMatchObject({
      changes: [{ key: 'maxMemoryMb', from: undefined, to: 5 }],
    });
    expect(tighten(base, {})).toEqual({ kind: 'tightened', next: base, changes: [] });
  });

  test('numbers of a preset are taken where they are smaller', () => {
    const answer = tighten({ ...base, maxExecutionSeconds: 10 }, { preset: 'sandbox' });
    expect(answer).toMatchObject({
      next: { maxExecutionSeconds: 10, maxMemoryMb: 1024, enableNetwork: false, preset: 'sandbox' },
    });
  });

  test('going from one allow-list preset to the other keeps what both allow', () => {
    const answer = tighten({ mode: 'restrictive', preset: 'production' }, { preset: 'minimal' });
    const next = answer.kind === 'tightened' ? answer.next : undefined;
    const { judge } = createPolicy(next ?? { mode: 'permissive' });
    expect(
      ['cat x', 'git status', 'npm install', 'grep x y'].map((command) => judge(command, CONTEXT).decision),
    ).toEqual(['allow', 'allow', 'deny', 'deny']);
  });

  test('whatever is wished, the next policy allows nothing that the last one refused', () => {
    const commands = [
      'ls',
      'cat x',
      'git status',
      'git push',
      'rm x',
      'npm test',
      'cat /etc/passwd',
      'echo x > y',
      'grep x y',
      'cat /proj/x',
      'id',
    ];
    const wishes: Wish[] = [
      { mode: 'restrictive' },
      { mode: 'custom' },
      { mode: 'permissive' },
      { allowedCommands: ['ls', 'git'] },
      { allowedCommands: ['ls'] },
      { allowedCommands: [] },
      { blockedCommands: ['ls'] },
      { allowedDirectories: ['/proj'] },
      { allowedDirectories: ['/proj/src'] },
      { preset: 'minimal' },
      { preset: 'production' },
      { preset: 'sandbox' },
      { allowedArguments: { git: ['status'] } },
      {},
    ];
    const step = (current: Restrictions, depth: number): void => {
      const before = createPolicy(current);
      for (const wish of wishes) {
        const answer = tighten(current, wish);
        if (answer.kind === 'refused') continue;
        const next = createPolicy(answer.next);
        for (const command of commands) {
          if (before.judge(command, CONTEXT).decision !== 'deny') continue;
          expect(next.judge(command, CONTEXT).decision, JSON.stringify([current, wish, command])).toBe(
            'deny',
          );
        }
        if (depth > 0) step(answer.next, depth - 1);
      }
    };
    step(base, 1);
  });
});
