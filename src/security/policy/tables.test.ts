import { describe, expect, test } from 'vitest';
import { findGadgets } from './gadgets.ts';
import { type ProgramEffects, readAwk, readSed } from './program-text.ts';
import { GADGETS, type Gadget } from './tables/gadget-rules.ts';
import { DANGEROUS_VARIABLES, dangerOf, HARMLESS_VARIABLES } from './tables/variables.ts';
import { WRAPPERS } from './tables/wrappers.ts';
import { findCommands } from './walk.ts';

const CONTEXT = { directory: '/proj', home: '/home/me' };

function argvs(command: string): (string | undefined)[][] {
  return findCommands(command, CONTEXT)
    .invocations.filter(({ isGuess }) => !isGuess)
    .map(({ args }) => args.map(({ value }) => value));
}

describe('gadgets', () => {
  const nameOf = ({ programs, options, words, script, subcommands }: Gadget): string =>
    `${programs[0]} ${(subcommands ?? []).join('|')} ${(options ?? []).slice(0, 3).join(' ')} ${words ?? ''} ${script ?? ''}`;

  test.each(GADGETS.map((gadget) => ({ name: nameOf(gadget), gadget })))(
    '$name meets its examples',
    ({ gadget }) => {
      const meets = (command: string): boolean =>
        findCommands(command, CONTEXT).invocations.some(({ args }) =>
          findGadgets(args, [gadget]).some(({ isUnknown }) => !isUnknown),
        );
      expect({
        missed: gadget.match.filter((command) => !meets(command)),
        met: gadget.notMatch.filter(meets),
      }).toEqual({ missed: [], met: [] });
      expect(gadget.match.length * gadget.notMatch.length).toBeGreaterThan(0);
    },
  );
});

describe('wrappers', () => {
  const rows = WRAPPERS.flatMap(({ examples }) => Object.entries(examples));
  test.each(rows)('%s', (command, inner) => {
    const found = argvs(command).map((words) => words.join(' '));
    expect(inner.filter((wanted) => !found.includes(wanted))).toEqual([]);
  });

  test.each(WRAPPERS.filter(({ isBuiltin }) => isBuiltin === undefined).map(({ names }) => names[0] ?? ''))(
    'an option that %s does not have is no guess at what it runs',
    (name) => {
      expect(findCommands(`\\${name} --surely-not rm x`, CONTEXT).unknowns).toHaveLength(1);
    },
  );
});

describe('variables', () => {
  test.each(DANGEROUS_VARIABLES)('$why', ({ pattern, match, notMatch }) => {
    expect(match.filter((name) => !pattern.test(name))).toEqual([]);
    expect(notMatch.filter((name) => pattern.test(name))).toEqual([]);
  });

  test('names that every build sets are harmless', () => {
    for (const name of ['FOO', 'CI', 'DEBUG', 'PORT', 'LANG', 'TZ', 'i', 'x', ...HARMLESS_VARIABLES]) {
      expect(dangerOf(name), name).toBeUndefined();
    }
  });
});

describe('programs in arguments', () => {
  const effectOf = ({ problem, written }: ProgramEffects): unknown =>
    problem ?? (written.length === 0 ? undefined : written);

  test.each([
    ['p', undefined],
    ['1~2!{s/a/b/g;n;d}', undefined],
    ['/x/,/y/{//!d}', undefined],
    ['s/[/]/x/', 'an s command that cannot be read'],
    ['s,a,b,;s#c#d#g', undefined],
    ['a\\\nw x', undefined],
    ['i hello; w x', undefined],
    ['a x\nw y', ['y']],
    ['$!N;P;D', undefined],
    ['s/a/b/\nw x', ['x']],
    ['s/a/b/we', ['e']],
    ['s/a/\\/w x/', undefined],
    ['r /etc/passwd', 'the command r'],
    ['e', 'the command e'],
    ['s/a/b/M;e id', 'the command e'],
    ['\\,a,w x', ['x']],
    ['# comment\nw x', ['x']],
    [':a;N;$!ba;s/\\n/ /g', undefined],
    ['b end\nw x', ['x']],
    ['s/a', 'an s command that cannot be read'],
    ['1,3{p', undefined],
    ['sxaxbxw y', ['y']],
    ['w', 'the command w'],
    ['w a\nw /dev/stdout\nW b', ['a', 'b']],
    ['w a;e id', ['a;e id']],
  ])('sed %s', (script, effect) => expect(effectOf(readSed(script))).toEqual(effect));

  test.each([
    ['{print}', undefined],
    ['$1 > 5', undefined],
    ['$1 > 5 {print}', undefined],
    ['{print > "x"}', ['x']],
    ['{print >> "x" }', ['x']],
    ['{print > "x" "y"}', 'print >'],
    ['{print > ("x")}', 'print >'],
    ['{print > "x" ".y"; print > "z"}', 'print >'],
    ['{print "> \\"x"; print > "/dev/stderr"}', undefined],
    ['{printf("%s", $1) | "sh"}', 'print |'],
    ['BEGIN{system("x")}', 'system()'],
    ['"x" | getline', 'getline'],
    ['@load "x"', '@'],
    ['/a|b/ || /c/ {print $1 || $2}', undefined],
  ])('awk %s', (program, effect) => expect(effectOf(readAwk(program))).toEqual(effect));
});
