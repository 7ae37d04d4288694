/** A command that is blocked is not run, by whatever keys it is typed; the shells are real. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needs } from '../../test/setup/needs.ts';
import { createWorld, type World } from '../../test/support/world.ts';
import { ShellServerError } from '../base/errors.ts';
import type { Caller, SendResult, Typed } from './terminals.ts';

let world: World;
/** Without lists, under which there is only bash and sh. */
let free: World;
beforeAll(() => {
  world = createWorld({ settings: { security: { blockedCommands: ['touch'] } } });
  free = createWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await free[Symbol.asyncDispose]();
});

const caller: Caller = {
  principal: 'me',
  reader: '',
  client: { name: 'test' },
  requestId: 'req_test',
  signal: new AbortController().signal,
};
const wait = { pattern: undefined, idleMs: undefined, timeoutMs: 20_000 };
const keys = (...names: string[]): Typed => ({ kind: 'keys', keys: names });
const text = (line: string): Typed => ({ kind: 'text', text: line, isEntered: false });
const run = (line: string): Typed => ({ kind: 'text', text: line, isEntered: true });
const raw = (line: string): Typed => ({
  kind: 'bytes',
  base64: Buffer.from(line, 'latin1').toString('base64'),
  isEntered: false,
});
const pause = 'pause';

type Shell = 'bash' | 'zsh' | 'fish' | 'sh';
const worldOf = (shell: Shell): World => (shell === 'zsh' || shell === 'fish' ? free : world);

async function open(shell: Shell, where: World = worldOf(shell), variables: Record<string, string> = {}) {
  const { terminals, directory, settings } = where;
  const place = mkdtempSync(join(settings.defaultWorkdir, 'place-'));
  const { state } = await terminals.create(
    {
      sessionName: undefined,
      shellType: shell,
      dimensions: { columns: 100, rows: 20 },
      workingDirectory: place,
      // What fish keeps goes with the world.
      environment: { HOME: directory, XDG_RUNTIME_DIR: directory, ...variables },
      autoSaves: false,
      command: undefined,
    },
    caller,
  );
  const { id } = state;
  return {
    id,
    place,
    hasMarker: () => existsSync(join(place, 'M')),
    /** Undefined where it was refused. */
    async send(typed: Typed, waits: boolean | number = true): Promise<SendResult | undefined> {
      const timeoutMs = typeof waits === 'number' ? waits : wait.timeoutMs;
      const input = { typed, guard: undefined, wait: waits === false ? undefined : { ...wait, timeoutMs } };
      return terminals.send(id, input, caller).catch((error: unknown) => {
        if (!(error instanceof ShellServerError) || error.code !== 'SECURITY_003') throw error;
        return undefined;
      });
    },
    close: () => terminals.close('me', id, false),
  };
}

function audited(where: World, id: string): string[] {
  const directory = join(where.settings.stateDir, 'audit');
  return readdirSync(directory)
    .flatMap((name) => readFileSync(join(directory, name), 'utf8').trimEnd().split('\n'))
    .map((line) => JSON.parse(line) as { event: string; terminalId?: string; input?: { text?: string } })
    .filter(({ event, terminalId }) => event === 'terminal_input' && terminalId === id)
    .map(({ input }) => input?.text ?? '<secret>');
}

const T = 'touch M';
type Steps = readonly (Typed | typeof pause)[];

/** What makes the terminal show another line than the shell has, lines before it, and the line. */
const EDITED: readonly (readonly [string, readonly string[], string])[] = [
  ['taller than the screen', [], `ouch M ${'a '.repeat(2400)}`],
  ['with characters of another width', [], `: ${'\u0600'.repeat(5)};ouch M`],
  ['behind a prompt with colours', [String.raw`PS1=$'\e[31m$ '`], 'ouch M'],
  ['behind a prompt with hidden text', [String.raw`PS1='\[x\]$ '`], 'ouch M'],
  ['behind a prompt that goes back', [String.raw`PS1=$'$ \e[5D'`], 'ouch M'],
  ['that is hidden', [String.raw`PS1=$'\e[8m'`], 'ouch M'],
  ['in insert mode', [String.raw`printf '\e[4h'`], 'ouch M'],
  ['in line graphics', [String.raw`printf '\e(0'`], 'ouch M'],
  ['that does not wrap', [String.raw`printf '\e[?7l'`], `ouch M #${'a'.repeat(120)}`],
  ['of another terminal', ['TERM=vt52'], 'ouch M'],
  ['in another locale', ['LC_ALL=C'], ': \u00e9;ouch M'],
  [
    'that is drawn over',
    [String.raw`(while sleep 0.05; do printf '\e7\r\e[30Cecho hello\e[K\e8'; done)&`],
    'ouch M',
  ],
];

/** Each would run `touch M` if it were not judged. */
const ATTACKS: readonly [string, readonly Shell[], Steps][] = [
  ['what only bash takes for quotes', ['sh'], [run("echo $'\\'; touch M #'")]],
  ['what only bash takes for quotes, before', ['sh'], [run("true $'\\'&touch M #'")]],
  ['Ctrl-M', ['bash', 'sh'], [text(T), keys('C-m')]],
  ['Ctrl-J', ['bash', 'sh'], [text(T), keys('^J')]],
  ['Shift-Enter', ['bash', 'sh'], [text(T), keys('shift+enter')]],
  ['Ctrl-O', ['bash', 'sh'], [text(T), keys('ctrl+o')]],
  ['End and Enter', ['bash'], [text(T), keys('end', 'enter')]],
  ['Ctrl-A, Ctrl-U, Enter', ['bash'], [text(T), keys('ctrl+a', 'ctrl+u', 'enter')]],
  ['the same in three calls', ['bash'], [text(T), keys('ctrl+a'), keys('ctrl+u'), keys('enter')]],
  ['a combining character', ['bash'], [text('touchx\u0302'), keys('backspace'), run(' M')]],
  ['Ctrl-W', ['bash', 'sh'], [text('touch xx'), keys('ctrl+w'), run('M')]],
  ['Ctrl-W and a word', ['sh'], [text('echo '), keys('ctrl+w'), run(T)]],
  ['Ctrl-D', ['sh'], [text('touch'), keys('ctrl+d'), run(' M')]],
  ['Ctrl-R', ['sh'], [text(T), keys('ctrl+r'), keys('enter')]],
  ['a search', ['bash'], [run(`: ${T}`), keys('ctrl+r'), text(T), keys('enter')]],
  ['a search at once', ['bash'], [run(`: ${T}`), keys('ctrl+r', 't', 'o', 'u', 'enter')]],
  ['an editor', ['bash'], [run('export EDITOR=true'), text(T), keys('ctrl+x', 'ctrl+e')]],
  ['an editor in two calls', ['bash'], [run('export EDITOR=true'), text(T), keys('ctrl+x'), keys('ctrl+e')]],
  ['a comment that is undone', ['bash'], [text(`#${T}`), keys('alt+1', 'alt+#')]],
  ['^a^b^', ['bash'], [run('set -H'), run(': xouch M'), run('^: xouch^touch')]],
  ['!!:s', ['bash'], [run('set -H; setopt banghist'), run(': xouch M'), run('!!:s/: xouch/touch/')]],
  ['history', ['bash'], [run(`: '\n${T}\n'`), keys('up', 'home', 'enter')]],
  ['a line with a space at its end', ['bash'], [text('touch '), keys('left', 'right'), run('M')]],
  ['the middle of a line', ['bash'], [text('tuch M'), keys('home', 'right'), run('o')]],
  ['continued', ['bash', 'sh'], [run('to\\'), run('uch M')]],
  ['continued ahead', ['bash', 'sh'], [run('sleep 1'), run('to\\'), pause, run('uch M')]],
  ['typed ahead', ['bash', 'sh'], [run('sleep 1'), text(T), pause, keys('enter')]],
  ['typed ahead in raw mode', ['bash'], [run('stty raw; sleep 1'), run(T), pause]],
  ['left to the shell by a program', ['bash'], [run('timeout 1 cat'), text(T), pause, keys('enter')]],
  ['no echo', ['bash', 'sh'], [run('stty -echo'), run(T)]],
  ['no echo, and a program that does not read', ['bash', 'sh'], [run('stty -echo; sleep 1'), run(T), pause]],
  ['no echo, and keys', ['bash'], [run('stty -echo'), text(T), keys('left'), keys('enter')]],
  ['Ctrl-C is another key', ['bash', 'sh'], [run('stty intr ^-'), text(T), keys('ctrl+c'), keys('enter')]],
  [
    'the same without echo',
    ['bash', 'sh'],
    [run('stty -echo intr ^-'), text(T), keys('ctrl+c'), run(''), run('ls')],
  ],
  ['a letter is Backspace', ['bash', 'sh'], [run('stty erase z'), run(`echo zzzzz${T}`)]],
  ['a letter is Ctrl-U', ['bash', 'sh'], [run('stty kill z'), run(`echo z${T}`)]],
  ['a letter is Ctrl-W', ['bash'], [run('stty werase z'), run(`echoz${T}`)]],
  ['Enter is Backspace', ['bash'], [run('stty erase ^M'), raw('tox\r'), raw('uch M\n')]],
  ['Ctrl-U is Backspace', ['bash'], [run('stty erase ^U kill undef'), raw('touchx\x15 M\n')]],
  ['a letter ends lines', ['sh'], [run('stty eol z'), run(`echo z${T}`)]],
  ['a shell without echo', ['bash', 'sh'], [run('stty -echo; sh'), run(T)]],
  ['a shell in a shell without echo', ['bash'], [run('bash --noediting -i'), run('stty -echo'), run(T)]],
  ['a shell in a shell', ['bash', 'sh'], [run('bash --norc'), run(T)]],
  ['the same in two parts', ['bash'], [run('sh'), text('tou'), run('ch M')]],
  ['the same with keys', ['bash'], [run('bash --norc'), text('tuch M'), keys('home', 'right'), run('o')]],
  ['the history of a shell in a shell', ['bash'], [run('bash --norc'), run(': xouch M'), run('!!:s/: x/t/')]],
  ['a shell in a shell, of another grammar', ['bash'], [run('zsh -f'), run('=touch M')]],
  ['a second line', ['bash', 'sh'], [run('stty -echo; head -n1 >/dev/null'), run(`x\n${T}`)]],
  ['a second line behind Ctrl-D', ['bash'], [run('stty -echo; cat >/dev/null'), raw(`x\x04\x04${T}\r`)]],
  ['what head leaves', ['bash', 'sh'], [run('stty -echo; head -c1 >/dev/null'), run(`x${T}`)]],
  ['the same in parts', ['bash'], [run('stty -echo; head -c1 >/dev/null'), text('xtou'), run('ch M')]],
  ['the same, continued', ['bash'], [run('stty -echo; head -c1 >/dev/null'), run('xtou\\'), run('ch M')]],
  ['what read leaves', ['bash'], [run('read -n1 x'), run(`p${T}`)]],
  ['what read leaves without echo', ['bash'], [run('read -s -n1 x'), run(`p${T}`)]],
  ['what read leaves of two parts', ['bash'], [run('read -s -n1 x'), text('ptou'), run('ch M')]],
  ['what read leaves behind a sign', ['bash'], [run('read -s -d : x'), run(`pw:${T}`)]],
  ['a copy of a shell', ['bash'], [run('cp /bin/sh x; stty -echo; ./x'), run(T)]],
  ['a comment without its sign', ['bash'], [run(`#${T}`), run('fc -s "#="')]],
  ['the prompt', ['bash'], [run(`PROMPT_COMMAND='${T}'`), run('true')]],
  ['the prompt’s text', ['bash', 'sh'], [run(`PS1='$(${T})'`), run('true')]],
  ['an alias', ['bash', 'sh'], [run('alias t=touch'), run('t M')]],
  ['an alias by its variable', ['bash'], [run('BASH_ALIASES[t]=touch'), run('t M')]],
  ['a variable', ['bash', 'sh'], [run('x=touch'), run('$x M')]],
  ['a variable in a function', ['bash', 'sh'], [run('f() { "$@"; }'), run(`f ${T}`)]],
  ['a hashed command', ['bash'], [run('hash -p "$(command -v touch)" t'), run('t M')]],
  ['Ctrl-O ahead', ['bash'], [run('sleep 1'), raw(`${T}\x0f`), pause]],
  ['Ctrl-O ahead in two calls', ['bash'], [run('sleep 1'), text(T), keys('ctrl+o'), pause]],
  ['an editor ahead', ['bash'], [run('export EDITOR=true'), run('sleep 1'), raw(`${T}\x18\x05`), pause]],
  [
    'vi mode ahead',
    ['bash'],
    [run('set -o vi; export EDITOR=true'), run('sleep 1'), raw(`${T}\x1bv`), pause],
  ],
  ['Ctrl-O ahead in raw mode', ['bash'], [run('stty raw -echo; sleep 1; stty sane'), raw(`${T}\x0f`), pause]],
  [
    'a line ahead, of which a program reads a part',
    ['bash'],
    [run('sleep 2; head -c1'), pause, run(`x${T}`), pause],
  ],
  ['Ctrl-D twice', ['sh'], [text(T), keys('ctrl+d', 'ctrl+d')]],
  ['Ctrl-D in two calls', ['sh'], [text(T), keys('ctrl+d'), keys('ctrl+d')]],
  ['Ctrl-D twice as bytes', ['sh'], [raw(`${T}\x04\x04`)]],
  ['Ctrl-D twice ahead', ['sh'], [run('sleep 1'), raw(`${T}\x04\x04`), pause]],
  ['Ctrl-D twice in another shell', ['bash'], [run('sh'), raw(`${T}\x04\x04`)]],
  ['Ctrl-D where the shell reads a script', ['bash', 'sh'], [run('. /dev/stdin'), raw(`${T}\x04\x04`)]],
  ['Ctrl-D where a substitution reads', ['bash'], [run('eval "$(cat)"'), raw(`${T}\x04\x04`)]],
  ['Ctrl-D without a line editor', ['bash'], [run('set +o emacs; set +o vi'), raw(`${T}\x04\x04`)]],
  ['Ctrl-D for a shell behind a pipe', ['bash'], [run('cat | sh'), text(T), keys('ctrl+d', 'ctrl+d')]],
  ['a line for a shell behind a pipe', ['bash'], [run('cat | sh'), run(T), keys('ctrl+d')]],
  ['a letter is Ctrl-D', ['sh'], [run('stty eof x'), text(`${T}xx`)]],
  ['a control character is Ctrl-D', ['sh'], [run('stty eof ^G'), raw(`${T}\x07\x07`)]],
  ['Ctrl-C is Ctrl-D', ['sh'], [run('stty intr undef eof ^C'), raw(`${T}\x03\x03`)]],
  ['a letter ends lines, without Enter', ['sh'], [run('stty eol z'), text(`${T}z`)]],
  ['Alt in vi mode', ['bash'], [run('set -o vi; export EDITOR=true'), text(T), keys('alt+l'), text('v')]],
  [
    'an arrow in vi mode',
    ['bash'],
    [run('set -o vi; export EDITOR=true'), text(T), keys('ctrl+home'), text('v')],
  ],
  [
    'Alt in vi mode of another shell',
    ['bash'],
    [run('export EDITOR=true; bash --norc -o vi'), text(T), raw('\x1bbv')],
  ],
  ['a line behind Ctrl-D', ['bash', 'sh'], [run('cat'), raw(`\x04${T}\r`)]],
  ['a line behind Ctrl-C', ['bash', 'sh'], [run('cat'), raw(`\x03${T}\r`)]],
  ['a second line of a program', ['bash'], [run('head -n1'), run(`a\n${T}`)]],
  ['what head leaves with echo', ['bash'], [run('head -c1'), run(`x${T}`)]],
  ['the same in parts', ['bash'], [run('head -c1'), text('xtou'), run('ch M')]],
  [
    'the same with other keys between',
    ['bash'],
    [run('head -c1'), text(`x${T}`), keys('left'), keys('enter')],
  ],
  ['the same, continued', ['bash'], [run('head -c1'), run('xtou\\'), run('ch M')]],
  [
    'what a program leaves that reads keys',
    ['bash'],
    [run('stty -icanon; head -c1; stty icanon'), run(`q${T}`)],
  ],
  ['the same and Ctrl-O', ['bash'], [run('stty -icanon; head -c1; stty icanon'), raw(`q${T}\x0f`)]],
  ['what read leaves and Ctrl-O', ['bash'], [run('read -n1 x'), raw(`q${T}\x0f`)]],
  ...EDITED.map(([name, before, line]): [string, readonly Shell[], Steps] => [
    `a letter put into a line: ${name}`,
    ['bash'],
    [
      ...before.map(run),
      text(line),
      line.startsWith(':') ? keys(...Array.from({ length: 6 }, () => 'left')) : keys('home'),
      text('t'),
      keys('enter'),
    ],
  ]),
  [
    'a recalled line',
    ['bash'],
    [run("PS1=$'\\e[31m$ '"), run(`echo ${T}`), keys('up'), keys('home'), keys('alt+d'), keys('enter')],
  ],
  ['the end of a here-document in one call', ['bash'], [run(': <<E'), raw('\x04touch M\r')]],
  [
    'the same by keys',
    ['bash', 'sh'],
    [run(': <<E'), keys('ctrl+d', 't', 'o', 'u', 'c', 'h', 'space', 'M', 'enter')],
  ],
  ['the end of a quote in one call', ['sh'], [run(": '"), raw("\x04touch M #'\r")]],
  [
    'Ctrl-C in a quote of a shell that tells nothing',
    ['sh'],
    [run('PS1=; PROMPT_COMMAND='), run(": '"), keys('ctrl+c'), run("touch M #'")],
  ],
  ...['sh', 'bash --norc', 'unset PROMPT_COMMAND', '__mcp_nonce=x', 'exec sh'].map(
    (line): [string, readonly Shell[], Steps] => [
      `Ctrl-C in a quote after ${line}`,
      ['bash'],
      [run(line), pause, run(": '"), pause, keys('ctrl+c'), pause, run("touch M #'"), pause],
    ],
  ),
  [
    'Ctrl-C in a here-document without prompts',
    ['bash'],
    [run('PROMPT_COMMAND='), run(': <<E'), keys('ctrl+c'), run(T)],
  ],
  [
    'a forged prompt',
    ['bash'],
    [
      run("trap '' INT"),
      run(String.raw`(sleep 1; printf '\e]133;D;0;himB;emacs;aid=%s\a' "$__mcp_nonce")&`),
      text(T),
      keys('ctrl+c'),
      pause,
      keys('enter'),
    ],
  ],
  [
    'other history characters',
    ['bash'],
    [run('set -H'), run("histchars='@^#'"), run(': xouch M'), run('@@:s/: xouch/touch/')],
  ],
  ['no comments', ['bash'], [run('shopt -u interactive_comments'), run('echo # ; touch M')]],
  ['no comments, by set', ['bash'], [run('set +o interactive-comments'), run('echo # ; touch M')]],
  [
    'no comments in another shell',
    ['bash'],
    [run('bash --norc +O interactive_comments'), run('echo # ; touch M')],
  ],
  ['an alias by its subscript', ['bash'], [run("printf -v 'BASH_ALIASES[q]' touch"), run('q M')]],
  ['an alias that is read', ['bash'], [run("read 'BASH_ALIASES[q]' <<< touch"), run('q M')]],
  ['an alias that is declared', ['bash'], [run("declare 'BASH_ALIASES[q]=touch'"), run('q M')]],
  ['an alias by another name', ['bash'], [run("declare -n r='BASH_ALIASES[q]'; r=touch"), run('q M')]],
  ['bytes of another locale', ['bash'], [run('LC_ALL=C; : touch'), keys('\u00ee', 'space', 'M', 'enter')]],
];

const cases = ATTACKS.flatMap(([name, shells, steps]) =>
  shells.map((shell): [string, Shell, Steps] => [name, shell, steps]),
);

describe.concurrent('a blocked command is not run', () => {
  test.for(cases)('%s in %s', async ([, shell, steps]) => {
    const terminal = await open(shell);
    for (const step of steps) {
      if (step === pause) await sleep(1300);
      // What is typed ahead is not waited for.
      else await terminal.send(step, step.kind === 'text' && step.isEntered && !steps.includes(pause));
    }
    await sleep(150);
    await terminal.close();
    expect(terminal.hasMarker()).toBe(false);
  });
});

/** What the terminal has when all of it was typed; undefined where something was refused. */
async function linesAfter(where: World, shell: Shell, steps: Steps): Promise<readonly string[] | undefined> {
  const terminal = await open(shell, where);
  for (const step of steps) if (step !== pause && (await terminal.send(step)) === undefined) return undefined;
  const look = {
    view: 'scrollback',
    from: undefined,
    count: 100,
    withAnsi: false,
    withFront: false,
    maxBytes: 100_000,
  } as const;
  const { lines } = await where.terminals.read(terminal.id, { ...look, wait: undefined }, caller);
  await terminal.close();
  return lines;
}

const endsWith = (expected: string): unknown =>
  expect.stringMatching(new RegExp(`(^|\\$ |> )${expected}$|${expected}$`));

describe.concurrent('a command that is not blocked', () => {
  test.skipIf(needs('zsh', 'fish')).for<[string, Shell, Steps, string]>([
    ['a line', 'bash', [run('echo a-$((1+1))')], 'a-2'],
    ['several lines', 'bash', [run('for x in a b; do\n\techo $x-1\ndone')], 'b-1'],
    [
      'lines one by one',
      'bash',
      [run('for x in a b; do'), run('echo $x-1'), run('done'), run('echo c-1')],
      'c-1',
    ],
    ['what is not ASCII', 'bash', [run('echo é-1')], 'é-1'],
    ['what is not ASCII', 'zsh', [run('echo é-1')], 'é-1'],
    ['what is not ASCII', 'fish', [run('echo é-1')], 'é-1'],
    ['what is not ASCII, and a tab', 'sh', [run("echo 'é\t-1'")], '-1'],
    ['after Ctrl-C', 'bash', [text('echo'), keys('ctrl+c'), run('echo a-1')], 'a-1'],
    ['after Ctrl-C', 'zsh', [text('echo'), keys('ctrl+c'), run('echo a-1')], 'a-1'],
    ['after Ctrl-C', 'fish', [text('echo'), keys('ctrl+c'), run('echo a-1')], 'a-1'],
    ['after Ctrl-C', 'sh', [text('echo'), keys('ctrl+c'), run('echo a-1')], 'a-1'],
    ['after a program was ended', 'bash', [run('cat'), keys('ctrl+c'), run('echo a-1')], 'a-1'],
    [
      'after a program that took keys',
      'bash',
      [run('read -n1 x'), text('y'), keys('ctrl+c'), run('echo a-1')],
      'a-1',
    ],
    [
      'after another program that took keys',
      'bash',
      [run('head -c 2'), text('y'), keys('ctrl+d'), run('echo a-1')],
      'a-1',
    ],
    ['with an exclamation mark', 'bash', [run('echo "a!b-1"')], 'a!b-1'],
    ['with an exclamation mark', 'zsh', [run('echo "a!b-1"')], 'a!b-1'],
    ['without echo', 'bash', [run('stty -echo'), run('echo a-1')], 'a-1'],
    ['without echo', 'sh', [run('stty -echo'), run('echo a-1')], 'a-1'],
    ['in another shell', 'bash', [run('bash --norc'), run('x=a'), run('exit'), run('echo a-1')], 'a-1'],
    ['in another shell without echo', 'bash', [run('stty -echo; sh'), run('echo a-1')], 'a-1'],
    ['after a line without echo', 'bash', [run('read -s x'), run('pass'), run('echo "$x-1"')], 'pass-1'],
    [
      'after a line of another program without echo',
      'bash',
      [run('stty -echo; x=$(head -n1); stty echo'), run('pass'), run('echo "$x-1"')],
      'pass-1',
    ],
    ['after an answer of a script', 'bash', [run("sh -c 'read x'"), run('y'), run('echo a-1')], 'a-1'],
    [
      'after lines for a program',
      'bash',
      [run('cat'), run('x = ("a!", 1)'), keys('ctrl+d'), run('echo a-1')],
      'a-1',
    ],
    [
      'after keys of a program',
      'bash',
      [run('head -c4'), text('a'), keys('tab'), keys('ctrl+c'), keys('ctrl+c'), run('echo a-1')],
      'a-1',
    ],
    ['typed ahead', 'bash', [run('sleep 0.5'), run('echo a-1'), run('echo b-1')], 'a-1'],
    [
      'edited in vi mode',
      'bash',
      [run('set -o vi'), text('echo a-12'), keys('backspace'), keys('enter')],
      'a-1',
    ],
    [
      'after the end of a script',
      'sh',
      [run('. /dev/stdin'), run('x=a'), keys('ctrl+d'), run('echo $x-1')],
      'a-1',
    ],
  ])('is run: %s in %s', async ([, shell, steps, expected]) => {
    expect(await linesAfter(worldOf(shell), shell, steps)).toContainEqual(endsWith(expected));
  });

  test.for<[string, Steps, string]>([
    ['edited, and Enter alone', [text('echo -1'), keys('left', 'left', 'a'), keys('enter')], 'a-1'],
    [
      'recalled, and Enter alone',
      [run('x=a'), run('echo $x-1'), run('x=b'), keys('up', 'up'), keys('enter')],
      'b-1',
    ],
    ['after a program that took keys', [run('read -n1 x'), text('y'), run('echo a-1')], 'a-1'],
  ])('is run without lists: %s', async ([, steps, expected]) => {
    expect(await linesAfter(free, 'bash', steps)).toContainEqual(endsWith(expected));
  });

  test.for<[string, Steps]>([
    ['edited', [text('echo -1'), keys('left', 'left', 'a'), keys('enter')]],
    ['recalled', [run('echo a-1'), keys('up'), keys('enter')]],
    ['completed', [text('ech'), keys('tab'), keys('enter')]],
    ['behind what a program may have left', [run('read -n1 x'), text('y'), run('echo a-1')]],
  ])('is refused under lists where it was %s, and run after Ctrl-C', async ([, steps]) => {
    const terminal = await open('bash');
    for (const step of steps.slice(0, -1)) if (step !== pause) await terminal.send(step);
    const [last] = steps.slice(-1);
    expect(last !== undefined && last !== pause && (await terminal.send(last))).toBeUndefined();
    for (const step of [keys('ctrl+c'), run('echo a-1')])
      expect(await terminal.send(step)).toMatchObject({ sent: 'all' });
    await terminal.close();
  });

  test.skipIf(needs('zsh'))('is run before zsh itself has said that it takes pastes', async () => {
    const home = mkdtempSync(join(free.directory, 'home-'));
    writeFileSync(
      join(home, '.zshrc'),
      'zmodload zsh/zselect; zle-line-init() { zselect -t 50 }; zle -N zle-line-init\n',
    );
    const terminal = await open('zsh', free, { HOME: home });
    expect(await terminal.send(run('echo é'), false)).toMatchObject({ sent: 'all' });
    await terminal.close();
  });

  test.skipIf(needs('zsh')).for<[Shell, string]>([
    ['bash', 'echo a'],
    ['sh', 'echo a'],
    ['zsh', 'echo a'],
  ])('is on record in %s where nothing is echoed: %s', async ([shell, line]) => {
    const terminal = await open(shell);
    await terminal.send(run('stty -echo'));
    await terminal.send(run(line));
    await terminal.send(run('stty -echo; sleep 1'), false);
    await sleep(300);
    await terminal.send(run(line), false);
    expect(audited(worldOf(shell), terminal.id)).toEqual([
      'stty -echo<enter>',
      `${line}<enter>`,
      'stty -echo; sleep 1<enter>',
      `${line}<enter>`,
    ]);
    await terminal.close();
  });
});

test.for<[string, Shell, Steps, string[]]>([
  [
    'what a command of the shell reads',
    'bash',
    [run('read -s x'), run('pass')],
    ['read -s x<enter>', 'pass<enter>'],
  ],
  [
    'what another program reads',
    'bash',
    [run('stty -echo; head -n1 >/dev/null'), run('pass')],
    ['stty -echo; head -n1 >/dev/null<enter>', 'pass<enter>'],
  ],
])('is on record under a list, although it is not echoed: %s', async ([, shell, steps, expected]) => {
  const terminal = await open(shell);
  for (const step of steps) if (step !== pause) await terminal.send(step);
  await terminal.close();
  expect(audited(worldOf(shell), terminal.id)).toEqual(expected);
});

test.skipIf(needs('ssh'))(
  'a password that a known program asks for is neither judged nor on record',
  async () => {
    const terminal = await open('bash');
    await terminal.send(run('ssh-keygen -q -t ed25519 -f key'));
    expect(await terminal.send(run(`${T}\nx`))).toBeUndefined();
    expect(await terminal.send(run(T))).toBeDefined();
    await terminal.close();
    expect(audited(world, terminal.id)).toEqual(['ssh-keygen -q -t ed25519 -f key<enter>', '<secret>']);
  },
);

test('what was refused while a program did not read is sent once it reads', async () => {
  const terminal = await open('bash');
  const waits = 'stty -icanon; until [ -e go ]; do sleep 0.02; done; exec head -c 3 > got';
  await terminal.send(run(`sh -c '${waits}'`), 300);
  expect(await terminal.send(keys('up'), false)).toBeUndefined();
  writeFileSync(join(terminal.place, 'go'), '');
  await expect.poll(() => terminal.send(keys('up'), false)).toMatchObject({ front: [{ name: 'head' }] });
  await expect.poll(() => readFileSync(join(terminal.place, 'got'), 'latin1')).toBe('\u001B[A');
  await terminal.close();
});

test.for<[string, Steps]>([
  ['a shell in a shell', [run('sh'), run('stty -echo')]],
  ['a shell that was started without echo', [run('stty -echo; dash -i')]],
  ['a shell in its place', [run('stty -echo; exec sh')]],
  ['a shell in its place that edits no lines', [run('exec bash --noediting --norc'), run('stty -echo')]],
])('is on record without lists too, although it is not echoed: what is typed into %s', async ([, steps]) => {
  const terminal = await open('bash', free);
  for (const step of steps) if (step !== pause) await terminal.send(step, 2000);
  await terminal.send(run('echo seen'), 2000);
  await terminal.close();
  expect(audited(free, terminal.id).at(-1)).toBe('echo seen<enter>');
});

test.skipIf(needs('zsh')).for<[string, Shell, Steps]>([
  ['a script that the shell reads', 'sh', [run('stty -echo; . /dev/stdin')]],
  ['a script that the shell reads', 'zsh', [run('stty -echo; source /dev/tty')]],
  ['lines that the shell evaluates', 'bash', [run('stty -echo; while read x; do eval "$x"; done')]],
  ['a line that the shell evaluates', 'bash', [run('read -s x; eval "$x"')]],
  ['a function of the shell', 'bash', [run('f() { . /dev/stdin; }'), run('stty -echo; f')]],
])('is on record without lists too, and no password: %s in %s', async ([, shell, steps]) => {
  const terminal = await open(shell, free);
  for (const step of steps) if (step !== pause) await terminal.send(step, 2000);
  const result = await terminal.send(run('echo seen'), 2000);
  expect(result?.after?.isSecretPrompt).toBe(false);
  await terminal.close();
  expect(audited(free, terminal.id).at(-1)).toBe('echo seen<enter>');
});

test.for<[string, Steps]>([
  ['a command of the shell', [run('read -s x')]],
  ['the second of two', [run('read -s x; read -s y'), run('first')]],
  ['another program', [run('stty -echo; head -n1 >/dev/null')]],
])('is not on record without lists: what %s reads without echo', async ([, steps]) => {
  const terminal = await open('bash', free);
  for (const step of steps) if (step !== pause) await terminal.send(step, 2000);
  await terminal.send(run('pass'), 2000);
  await terminal.close();
  expect(audited(free, terminal.id).at(-1)).toBe('<secret>');
});

test('a question about a line shows the variables that its terminal was opened with', async () => {
  await using asking = createWorld({ settings: { security: { askCommands: ['touch'] } } });
  const terminal = await open('bash', asking, { PATH: '/evil:/usr/bin:/bin', FOO: 'bar' });
  const sent = asking.terminals.send(terminal.id, { typed: run(T), guard: undefined, wait }, caller);
  const { question } = (await sent.catch((error: unknown) => error)) as { question: string };
  expect(question).toContain('    FOO=bar\n');
  expect(question).toContain('    PATH=/evil:/usr/bin:/bin');
  await terminal.close();
});
