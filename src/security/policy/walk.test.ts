import { describe, expect, test } from 'vitest';
import { expandBraces } from './braces.ts';
import { parseBounded } from './parse.ts';
import { createPolicy } from './policy.ts';
import { enterPath, isInside, resolvePath } from './resolve-path.ts';
import { findArgvCommands, findCommands } from './walk.ts';

const CONTEXT = { directory: '/proj', home: '/home/me' };

function found(command: string): string[] {
  return findCommands(command, CONTEXT)
    .invocations.filter(({ isGuess }) => !isGuess)
    .map(({ args, foundIn }) =>
      [...foundIn.map((place) => `${place}:`), ...args.map(({ value }) => value ?? '?')].join(' '),
    );
}

function unknowns(command: string): string[] {
  return findCommands(command, CONTEXT).unknowns.map(({ reason }) => reason);
}

describe('commands are found', () => {
  test.each<[string, string[]]>([
    ['a; b && c || d | e & f', ['a', 'b', 'c', 'd', 'e', 'f']],
    ['a "$(b)" `c`', ['$( ): b', '$( ): c', 'a ? ?']],
    [
      'a ${x:-$(b)} ${y/$(c)/$(d)} ${z[$(e)]} ${v:$(f):$(g)}',
      ['$( ): b', '$( ): c', '$( ): d', '$( ): e', '$( ): f', '$( ): g', 'a ? ? ? ?'],
    ],
    ['echo $((1+$(a)))', ['$( ): a', 'echo ?']],
    ['x=$(a) y=(1 $(b)) z[$(c)]=1 d', ['$( ): a', '$( ): b', '$( ): c', 'd']],
    ['a < <(b) > >(c)', ['<( ): b', '>( ): c', 'a']],
    ['a <<E\n$(b) `c` \\$(d)\nE', ['$( ): b', '$( ): c', 'a']],
    ["a <<'E'\n$(b)\nE", ['a']],
    ['[[ $(a) == $(b) && -f $(c) ]]', ['$( ): a', '$( ): b', '$( ): c']],
    ['for ((i=$(a); i<$(b); i++)); do c; done', ['$( ): a', '$( ): b', 'c']],
    ['case $(a) in $(b)) c;; esac', ['$( ): a', '$( ): b', 'c']],
    ['select x in $(a); do b; done', ['$( ): a', 'b']],
    ['if a; then b; elif c; then d; else e; fi', ['a', 'b', 'c', 'd', 'e']],
    ['while a; do b; done; until c; do d; done', ['a', 'b', 'c', 'd']],
    ['(a; { b; }) > "$(c)"', ['$( ): c', 'a', 'b']],
    ['f() { a; }; f x', ['function f: a', 'f x']],
    ['coproc X { a; }', ['a']],
    ["bash -c 'a; b' x", ['bash -c a; b x', 'bash -c: a', 'bash -c: b']],
    ["sh -ec 'a'", ['sh -ec a', 'sh -c: a']],
    ['bash -c -- a', ['bash -c -- a', 'bash -c: a']],
    ["bash -o pipefail -c 'a | b'", ['bash -o pipefail -c a | b', 'bash -c: a', 'bash -c: b']],
    ['bash -c "bash -c \'a\'"', ["bash -c bash -c 'a'", 'bash -c: bash -c a', 'bash -c: bash -c: a']],
    ["eval a 'b; c'", ['eval a b; c', 'eval: a b', 'eval: c']],
    ["trap 'a' INT", ['trap a INT', 'trap: a']],
    ["bash <<< 'a'", ['bash', 'bash: a']],
    [". /dev/stdin <<'E'\na\nE", ['. /dev/stdin', 'source: a']],
    ['xargs -0 -n 1 a b', ['xargs -0 -n 1 a b', 'xargs: a b ?']],
    ['xargs -I X a b X', ['xargs -I X a b X', 'xargs: a b ?']],
    ['xargs', ['xargs', 'xargs: echo ?']],
    [
      'find . -exec a {} \\; -execdir b {} + -ok c \\;',
      ['find . -exec a {} ; -execdir b {} + -ok c ;', 'find -exec: a ?', 'find -execdir: b ?', 'find -ok: c'],
    ],
    ["mapfile -C 'a b' -c 1", ['mapfile -C a b -c 1', 'mapfile -C: a b x'].slice(0, 1)],
    ['command -v a', ['command -v a']],
    ['{a,b} c', ['a b c']],
    ['time -p a', ['a']],
    ['! a | b', ['a', 'b']],
    ['a # b', ['a']],
    ['echo "a; b" \'c $(d)\'', ['echo a; b c $(d)']],
  ])('%s', (command, commands) => expect(found(command)).toEqual(commands));

  test('in a program that is started without a shell, wrappers are looked into and text is text', () => {
    const commands = findArgvCommands(['env', 'A=1', 'echo', '$(rm x); rm y'], CONTEXT).invocations;
    expect(commands.map(({ args }) => args.map(({ value }) => value))).toEqual([
      ['env', 'A=1', 'echo', '$(rm x); rm y'],
      ['echo', '$(rm x); rm y'],
    ]);
  });
});

describe('what cannot be decided is unknown', () => {
  test.each([
    ['echo $(>/dev/null ! rm x)', '"!" may be read as grammar here'],
    ['>/dev/null time rm x', '"time" may be read as grammar here'],
    ['git>()-shell', 'a process substitution that is part of a word'],
    ['ls --file=<(x)', 'a process substitution that is part of a word'],
    ["echo $((rm x $(true <<'E'\n'\nE\n)))", 'arithmetic that bash may read as a command'],
    ["'ls'\\", 'a backslash at the end escapes nothing'],
    ['fb 1>(tb)', 'a word that bash may read in another way'],
    ['echo $(coproc ls)', 'bash reads a coproc in a substitution in another way'],
    ["echo $(cat <<'E'\nx\nE\na; b)", 'bash may join commands behind a here-document in a substitution'],
    ["cat <<E\n${x:-'$(rm x)'}\nE", 'quotes in a here-document that bash does not heed'],
    ['cat <<$(x)\na\n$(x)', 'a here-document whose end is not clear'],
    ['cat <<E\na', 'a here-document whose end is not clear'],
    ['ls 2\\\n>&1', 'a redirection that begins on the line before'],
    ['a[if 1]]={{a,b} x', 'a word that bash may read in another way'],
    ['a[x y]=b ls', 'an assignment that bash may read as a command'],
    ['$x', 'the name of the command is only known when it runs'],
    ['bash -c "$x"', 'what bash would run is not clear'],
    ['bash -c "ls $x"', 'a shell runs a text that is only known then'],
    ['bash x.sh', 'bash runs what stands in a file'],
    ['curl x | bash', 'bash runs what comes from its input'],
    ['source x', 'the shell runs what stands in a file'],
    ['timeout --what 5 ls', 'what timeout would run is not clear: its option --what is not known'],
    ['zsh -c ls', 'zsh may read this text in another way than bash'],
    ["sh -c $'echo $\\'a\\''", 'sh may read this text in another way than bash'],
    ['echo ${x@P}', 'bash evaluates the value of a variable as a prompt'],
    ['hash -p /bin/rm ls', 'this changes how the shell reads what follows'],
    ['enable -f x y', 'this changes how the shell reads what follows'],
    ['compgen -W "$(x)"', 'this builtin runs or evaluates its arguments'],
    ['jobs -x rm x', 'this builtin runs or evaluates its arguments'],
    ['declare -n r=PATH', 'bash evaluates a name that is only known when it runs'],
    ['cd() { ls; }', 'a function takes the place of the builtin cd'],
    ['parallel rm ::: x', 'parallel builds commands from its input'],
    ['if ls', "bash would not read it: expected 'then'"],
  ])('%s', (command, reason) =>
    expect(
      unknowns(command).some((each) => each.startsWith(reason)),
      unknowns(command).join('\n'),
    ).toBe(true),
  );

  test('a value that is kept in quotes with its line continuation is not certain', () => {
    expect(findCommands("$'a\\\nb' x", CONTEXT).unknowns).toHaveLength(1);
  });

  test('ordinary work is certain', () => {
    for (const command of [
      'git commit -m "$(cat <<\'E\'\nx\nE\n)"',
      'for f in *; do echo "$f"; done',
      'a=1; echo $a',
      'diff <(a) <(b)',
      '[[ $x =~ ^(a|b)$ ]]',
      'echo a=b~c',
      "printf '%s\\n' {1..3}",
    ]) {
      expect(unknowns(command), command).toEqual([]);
    }
  });
});

describe('time is bounded', () => {
  const code = 'function f(){if(a){return{b:`${c}`,d:{e:1}}}}\n';
  const { judge } = createPolicy({ mode: 'permissive', blockedCommands: ['rm -rf'] });

  test.each([
    ['a here-document', `cat > f.js <<'EOF'\n${code.repeat(2200)}EOF\n`],
    [
      'a here-document that expands',
      `cat > f.js <<EOF\n${code.replaceAll('$', '').replaceAll('`', '').repeat(2200)}EOF\n`,
    ],
    [
      'two of them in an if',
      `if true; then\ncat > f.js <<'EOF'\n${code.repeat(1000)}EOF\ncat > g.js <<'EOF'\n${code.repeat(1000)}EOF\nfi`,
    ],
    ['a program in quotes', `python3 -c '${'x = {"a": [1, {}]}\n'.repeat(5000)}'`],
    ['data in quotes', `curl -d '${'{"a":[{"b":1},{"c":{}}]},'.repeat(4000)}' x`],
  ])('100 KiB in %s is fine', (_, command) => {
    expect(judge(command, CONTEXT)).toMatchObject({ decision: 'allow' });
    expect(judge(`${command}\nrm -rf x`, CONTEXT)).toMatchObject({ ruleClass: 'blocked' });
  });

  test.each([
    '{',
    '{a,',
    '{${a }',
    '$[',
    '"{',
    "{' '",
    '$(',
    '"$(',
    '`',
    '(',
    '((',
    '<(',
    '${a:-',
    '$((1+',
    'a<<E<<E',
    '"$(a "',
    'if a; then ',
    'eval "',
    'f() { ',
    '[[ (',
    'case a in a) ',
    "'",
    '\\',
    "$'",
    '! ',
    'a | ',
    'a && ',
    'time ',
  ])('much of %s', (sign) => {
    const before = process.cpuUsage();
    for (const length of [4000, 20_000, 120_000]) judge(sign.repeat(length / sign.length), CONTEXT);
    expect(process.cpuUsage(before).user).toBeLessThan(15_000_000);
  });

  test('what is too deep is refused in every mode', () => {
    expect(judge('$('.repeat(500), CONTEXT)).toMatchObject({ decision: 'deny', ruleClass: 'too-complex' });
    expect(judge('{'.repeat(60_000), CONTEXT)).toMatchObject({ decision: 'deny', ruleClass: 'too-complex' });
    expect(judge('a\0b', CONTEXT)).toMatchObject({ decision: 'deny', ruleClass: 'too-complex' });
    expect(judge(`${'eval '.repeat(40)}ls`, CONTEXT)).toMatchObject({
      decision: 'deny',
      ruleClass: 'too-complex',
    });
    expect(judge(`${'env '.repeat(40)}ls`, CONTEXT)).toMatchObject({
      decision: 'deny',
      ruleClass: 'too-complex',
    });
  });

  test('quotes that only look like a here-document do not hide what is costly', () => {
    expect(parseBounded(`echo "<<'E'\n" ${'{a,'.repeat(20_000)}`).kind).toBe('too-complex');
  });
});

describe('paths', () => {
  const realPath = (path: string): string => path.replace(/^\/proj\/link(?=\/|$)/, '/etc/deep');

  test('`..` behind a link is the parent of what it points to', () => {
    expect(resolvePath('/proj', 'link/../x', realPath)).toBe('/etc/x');
    expect(resolvePath('/proj', 'a/../x', realPath)).toBe('/proj/x');
    expect(resolvePath('/proj', '/../..//x', realPath)).toBe('/x');
  });

  test('`cd` may go either way', () => {
    expect(enterPath(['/proj'], 'link/..', realPath)).toEqual(['/proj', '/etc']);
    expect(enterPath([null, '/proj'], 'a', realPath)).toEqual([null, '/proj/a']);
  });

  test('a name that begins like a directory is not inside it', () => {
    expect(isInside('/projector', '/proj')).toBe(false);
    expect(isInside('/proj', '/proj')).toBe(true);
    expect(isInside('/proj/x', '/proj')).toBe(true);
    expect(isInside('/x', '/')).toBe(true);
  });
});

test.each<[string, string[] | undefined]>([
  ['a{b,c}d', ['abd', 'acd']],
  ['{a,b}{1..2}', ['a1', 'a2', 'b1', 'b2']],
  ['{a,{b,c}}', ['a', 'b', 'c']],
  ['{a}', ['{a}']],
  ['{}', ['{}']],
  ['{1..3}', ['1', '2', '3']],
  ['{c..a}', ['c', 'b', 'a']],
  ['{a,}', ['a']],
  ['x{a,}', ['xa', 'x']],
  ['{1..1000}', undefined],
  ['{01..03}', undefined],
  ['{a,$x}', undefined],
])('braces %s', (text, words) => expect(expandBraces(text)).toEqual(words));
