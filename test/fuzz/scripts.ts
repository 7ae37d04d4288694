/** Shell texts made by chance from a seed: half by grammar, half a soup of the signs that parsers stumble over. */

export type Random = () => number;

/** mulberry32: the same numbers from the same seed on every machine. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Commands that are nowhere: those with `t` succeed, those with `f` fail. */
export const NAMES: readonly string[] = ['ta', 'tb', 'tc', 'td', 'fa', 'fb'];

export function makeScript(random: Random): string {
  const maker = createMaker(random);
  const chance = random();
  if (chance < 0.45) return maker.list(3);
  if (chance < 0.85) return maker.soup(4 + Math.floor(random() * 22));
  return mutate(maker.list(3), random);
}

/** A text that is nearly right. */
function mutate(text: string, random: Random): string {
  const signs = [...SIGNS, '', '', ''];
  let changed = text;
  for (let count = 1 + Math.floor(random() * 3); count > 0; count--) {
    const at = Math.floor(random() * (changed.length + 1));
    const sign = signs[Math.floor(random() * signs.length)] ?? '';
    changed = changed.slice(0, at) + sign + changed.slice(at + (random() < 0.5 ? 1 : 0));
  }
  return changed;
}

const SIGNS: readonly string[] = [
  '"',
  "'",
  '\\',
  '\n',
  ' ',
  '`',
  '$',
  '$(',
  ')',
  '(',
  '((',
  '))',
  '$((',
  '{',
  '}',
  '{ ',
  '; }',
  ';',
  ';;',
  '&',
  '&&',
  '|',
  '||',
  '|&',

  '<',
  '>',
  '>>',
  '<<',
  "<<'E'",
  '<<E\n',
  '\nE\n',
  '<<-E\n',
  '<<<',
  '<(',
  '>(',
  '>&2 ',
  '2>&1',
  '&>',
  '<>',
  '>/dev/null ',

  "$'",
  '$"',
  '${',
  '${x:-',
  '${x@P}',
  '${!x}',
  '${#x}',
  '$[',
  ']',
  '[',
  '[[ ',
  ' ]]',
  '#',
  '!',
  '! ',
  '~',
  '*',
  '?',
  '=',
  '+=',
  'x=',
  'x=(',
  'a[',
  'x+=',

  'time ',
  'coproc ',
  'if ',
  '; then ',
  '; fi',
  'else ',
  'elif ',
  'case x in ',
  'x) ',
  ';; esac',
  'for x in a b; do ',
  '; done',
  'while fa; do ',
  'until ta; do ',
  'select ',

  'function f ',
  'f() ',
  'f() { ',
  'f',
  '() { ',
  'eval ',
  'command ',
  'builtin ',
  'exec ',
  'trap ',
  '. /dev/stdin ',
  'set -- ',
  'export ',
  'declare ',
  'local ',
  'read ',
  'unset ',
  'let ',
  'test -v ',
  'printf ',

  '$x',
  '"$x"',
  '$@',
  '"$@"',
  '$1',
  '$#',
  '-eq ',
  '@(',
  '!(',
  '{a,b}',
  '{1..2}',
  '{',
  ',',
  '..',
  '\\\n',
  '\\"',
  "\\'",
  '\\`',
  '\t',
  '\r',
  '\u00a0',
  'a',
  '1',
  '-v ',
  ':',
  '.',
];

interface Maker {
  list(depth: number): string;
  soup(length: number): string;
}

function createMaker(random: Random): Maker {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const name = (): string => pick(NAMES);

  const word = (depth: number): string => {
    if (depth <= 0 || random() < 0.35)
      return pick([
        'a',
        'b',
        '-x',
        "'q w'",
        '"d q"',
        '\\$x',
        "$'n\\n'",
        '1',
        'x=y',
        '{a,b}',
        '*',
        '~',
        '#c',
        '\\ ',
        '""',
        name(),
      ]);
    const inner = (): string => list(depth - 1);
    return pick([
      () => `$(${inner()})`,
      () => `"$(${inner()})"`,
      () => `\`${name()} ${pick(['a', '\\`tb\\`', '"x"'])}\``,
      () => `"\`${name()} b\`"`,
      () => `\${x:-$(${inner()})}`,
      () => `"\${x:-"$(${inner()})"}"`,
      () => `"\${x:-'$(${inner()})'}"`,
      () => `\${x:-\`${name()}\`}`,
      () => `$((1+$(${name()})))`,
      () => `\${x:$(${name()})}`,
      () => `\${x/$(${name()})/y}`,
      () => `\${x[$(${name()})]}`,
      () => `<(${inner()})`,
      () => `>(${inner()})`,
      () => `${word(depth - 1)}${word(depth - 1)}`,
      () => `{${word(depth - 1)},$(${name()})}`,
      () => `$[1+\`${name()}\`]`,
      () => `"$x"$'a\\'b'`,
    ])();
  };

  const words = (depth: number): string =>
    Array.from({ length: Math.floor(random() * 3) }, () => ` ${word(depth)}`).join('');

  const redirect = (depth: number): string =>
    pick([
      () => '',
      () => '',
      () => '',
      () => ` >/dev/null`,
      () => ` 2>&1`,
      () => ` <<<${word(depth - 1)}`,
      () => ` >"/tmp/o$(${name()})"`,
      () => ` <<E\nx $(${list(depth - 2)}) \`${name()}\`\nE\n`,
      () => ` <<'E'\n$(${name()})\nE\n`,
      () =>
        ` <<E\n\${x:-${pick(["'", '"', "$'", '\\\\'])}$(${name()})${pick(["'", '"', ''])}} \${y#'\`${name()}\`'}\nE\n`,
      () => ` <<-E\n\t$(${name()})\n\tE\n`,
      () => ` <<"E" <<F\n$(fa)\nE\n$(${name()})\nF\n`,
    ])();

  const simple = (depth: number): string => {
    const prefix =
      random() < 0.2
        ? `${pick(['x=', 'y+=', 'a[1]=', 'a=('])}${word(depth - 1)} `.replace(/(a=\(.*) $/, '$1) ')
        : '';
    return `${prefix}${random() < 0.1 ? pick(['>/dev/null ', '</dev/null ']) : ''}${name()}${words(depth)}${redirect(depth)}`;
  };

  const command = (depth: number): string => {
    if (depth <= 0 || random() < 0.4) return simple(depth);
    const inner = (): string => list(depth - 1);
    return pick([
      () => `( ${inner()} )`,
      () => `{ ${inner()}\n}`,
      () => `if ${inner()}\nthen ${inner()}\nelse ${inner()}\nfi`,
      () => `for x in ${word(depth - 1)} b; do ${inner()}\ndone`,
      () => `for ((x=0; x<$(${name()})+1; x++)); do ${inner()}\nbreak; done`,
      () => `while ${pick(['fa', 'fb'])}; do ${inner()}\ndone`,
      () => `until ${pick(['ta', 'tb'])}; do ${inner()}\ndone`,
      () => `case ${word(depth - 1)} in a|${word(0)}) ${inner()}\n;; *) ${inner()}\n;; esac`,
      () => `f() { ${inner()}\n}; ${pick(['f', 'f a', ''])}`,
      () => `function g { ${inner()}\n}\n${pick(['g', '(g)', 'unset -f g; g', ''])}`,
      () => `(h() { :; }); h`,
      () => `fa && k() { :; }\nk`,
      () => `eval '${name()} a; ${name()}'`,
      () => `eval "${name()} $(${name()})"`,
      () => `eval ${word(depth - 1)}`,
      () => `command ${simple(depth - 1)}`,
      () => `builtin eval "${name()}"`,
      () => `trap '${name()} t' EXIT`,
      () => `. /dev/stdin <<'E'\n${name()} s\n${name()}\nE\n`,
      () => `coproc ${simple(depth - 1)}`,
      () => `coproc { ${inner()}\n}`,
      () => `time ${simple(depth - 1)}`,
      () => `! ${simple(depth - 1)}`,
      () => `[[ -n ${word(depth - 1)} && $(${name()}) == x ]] && ${inner()}`,
      () => `[[ a =~ $(${name()}) ]]`,
      () => `(( 1 + $(${name()}) ))`,
      () => `mapfile -C '${name()} m' -c 1 <<< x`,
      () =>
        `x='a[$(${name()})]'; ${pick(['(( x ))', 'echo $((x))', '[[ $x -eq 1 ]]', 'test -v "$x"', 'unset "$x"', 'read "$x" <<< 1', 'printf -v "$x" 1', 'let "$x"', 'declare "$x=1"', 'echo ${!x}', 'y=${z:x}'])}`,
      () => `x='$(${name()})'; echo \${x@P}`,
      () => `set -- ${name()} a; ${pick(['"$@"', '$1', '$*', 'eval "$1"'])}`,
      () => `x=${name()}; ${pick(['$x', '"$x" a', '${x} b', '$x$y', '${x:0:2}'])}`,
      () => `shopt -s expand_aliases\nalias zz='${name()} '\nzz ${name()}`,
      () => `printf -v PS4 '$(${name()})'; set -x; :`,
    ])();
  };

  function pipeline(depth: number): string {
    return random() < 0.75 ? command(depth) : `${command(depth)} ${pick(['|', '|&'])} ${command(depth - 1)}`;
  }

  function list(depth: number): string {
    let text = pipeline(depth);
    while (random() < 0.35) text += `${pick([' && ', ' || ', '; ', '\n', ' & '])}${pipeline(depth - 1)}`;
    return random() < 0.06 ? `${text} # c 'x` : text;
  }

  function soup(length: number): string {
    let text = random() < 0.5 ? `${name()} ` : '';
    for (let n = 0; n < length; n++) text += random() < 0.3 ? ` ${name()} ` : pick(SIGNS);
    return text;
  }

  return { list, soup };
}
