import { describe, expect, test } from 'vitest';
import { encodeTyped } from './input.ts';
import type { InputModes, Typed } from './protocol.ts';
import { createTyping, type Decision, type ShellFacts, type Typing } from './typing.ts';

const entered = (text: string): Typed => ({ kind: 'text', text, isEntered: true });
const typed = (text: string): Typed => ({ kind: 'text', text, isEntered: false });
const keys = (...names: string[]): Typed => ({ kind: 'keys', keys: names });
const bytes = (text: string): Typed => ({
  kind: 'bytes',
  base64: Buffer.from(text, 'latin1').toString('base64'),
  isEntered: false,
});

const modes: InputModes = { applicationCursor: false, bracketedPaste: true, isAlternate: false };

/** bash at its prompt. */
const bash = (about: Partial<ShellFacts> = {}): ShellFacts => ({
  isShellInFront: true,
  prompts: 1,
  expandsHistory: false,
  editing: 'emacs',
  promptLine: '',
  beforeCursor: '',
  isFreshPrompt: true,
  lineKeys: undefined,
  editorKeys: undefined,
  modes,
  byPerson: 0,
  ...about,
});
/** A shell without a line editor, of which nothing is shown. */
const sh = (about: Partial<ShellFacts> = {}): ShellFacts =>
  bash({
    lineKeys: 'usual',
    promptLine: undefined,
    beforeCursor: undefined,
    modes: { ...modes, bracketedPaste: false },
    ...about,
  });
/** The same line, with the cursor behind it. */
const shows = (line: string): ShellFacts => bash({ promptLine: line.trimEnd(), beforeCursor: line });

const encode = (each: Typed, shell: ShellFacts): Buffer => encodeTyped(each, shell.modes);
const decide = (typing: Typing, each: Typed, shell = bash()): Decision =>
  typing.decide(encode(each, shell), shell);
const commit = (typing: Typing, each: Typed, shell = bash()): void =>
  typing.commit(encode(each, shell), shell);

/** What it runs; undefined where nothing, and `refused` where nobody can tell. */
function runs(typing: Typing, each: Typed, shell = bash()): string | undefined {
  const decision = decide(typing, each, shell);
  if (decision.kind === 'refuse') return 'refused';
  return 'commands' in decision ? decision.commands : undefined;
}

/** Each was typed, and the shell said nothing meanwhile. */
function after(all: readonly Typed[], shell = bash()): Typing {
  const typing = createTyping();
  for (const each of all) commit(typing, each, shell);
  return typing;
}

describe('what is entered is judged', () => {
  test.for<[string, Typed[], Typed, string | undefined]>([
    ['a line', [], entered('ls'), 'ls'],
    ['a line without its end', [], typed('ls'), undefined],
    ['a line in two parts', [typed('rm -rf')], entered(' /'), 'rm -rf /'],
    ['several lines', [], entered('a\nb\r\nc'), 'a\nb\nc'],
    ['several lines with tabs and accents, which are pasted', [], entered('a\tb\né'), 'a\tb\né'],
    ['a line with an accent, which is pasted', [], entered('echo é'), 'echo é'],
    ['keys that are characters', [keys('l', 's', 'space', '/')], keys('Enter'), 'ls /'],
    ['what is left after Ctrl-U', [typed('rm -rf /'), bytes('\x15')], entered('ls'), 'ls'],
    ['what is left after Backspace', [typed('lsx'), keys('backspace')], entered(''), 'ls'],
    ['a line after Ctrl-L', [typed('l'), keys('ctrl+l')], entered('s'), 'ls'],
    ['a line after Ctrl-C where there was none', [keys('ctrl+c')], entered('ls'), 'ls'],
    ['a line after Ctrl-D where there was none', [keys('ctrl+d')], entered('ls'), 'ls'],
  ])('%s', ([, before, last, expected]) => {
    for (const shell of [bash(), sh()]) {
      // Without a line editor Ctrl-L is a character like others.
      if (
        shell.lineKeys !== undefined &&
        before.some((each) => each.kind === 'keys' && each.keys[0] === 'ctrl+l')
      )
        continue;
      expect(runs(after(before, shell), last, shell)).toBe(expected);
    }
  });

  test.for(
    ['enter', 'return', 'cr', 'C-m', '^M', 'ctrl+m', 'control+m', 'C-j', '^J', 'ctrl+j'].concat([
      'shift+enter',
      'ctrl+enter',
      'S-return',
      'shift+ctrl+m',
      'C-return',
      'Shift-Return',
    ]),
  )('%s is Enter, as the byte is', (key) => {
    expect(runs(after([typed('touch x')]), keys(key))).toBe('touch x');
    expect(runs(after([typed('touch x')], sh()), keys(key), sh())).toBe('touch x');
  });

  test('together with those before that have not ended', () => {
    const typing = after([entered('cu\\')]);
    expect(runs(typing, entered('rl x'))).toBe('cu\\\nrl x');
    expect(typing.isUnsettled(bash())).toBe(false);
    // One prompt for two lines: the second may still be on its way.
    const typingOn = after([entered('cu\\'), entered('rl x')]);
    const fresh = bash({ prompts: 2 });
    expect(runs(typingOn, entered('ls'), fresh)).toBe('cu\\\nrl x\nls');
    expect(typingOn.isUnsettled(bash({ prompts: 2, isFreshPrompt: false }))).toBe(false);
    expect(typingOn.isUnsettled(fresh)).toBe(true);
    typingOn.settle(fresh);
    expect(runs(typingOn, entered('ls'), fresh)).toBe('ls');
    // A prompt has come: what follows is another command.
    expect(runs(typing, entered('rl x'), bash({ prompts: 2 }))).toBe('rl x');
  });

  test('together with those that were typed while another program ran', () => {
    const busy = bash({ isShellInFront: false, lineKeys: 'usual', promptLine: undefined });
    const typing = after([entered('sleep 3')]);
    commit(typing, entered('cu\\'), busy);
    // The prompt after `sleep` has come, and the shell wants the rest of the second line.
    expect(runs(typing, entered('rl x'), bash({ prompts: 2 }))).toBe('sleep 3\ncu\\\nrl x');
    expect(runs(typing, entered('ls'), bash({ prompts: 3 }))).toBe('ls');
  });
});

describe('a line that is not certain', () => {
  test.for<[string, Typed]>([
    ['End before Enter', keys('end', 'enter')],
    ['history before Enter', keys('up', 'enter')],
    ['a completion before Enter', entered('ls /et\t')],
    ['the same as bytes', bytes('x\x1b[D\r')],
    ['Ctrl-A, Ctrl-U and Enter', keys('ctrl+a', 'ctrl+u', 'enter')],
    ['Ctrl-W before Enter', keys('ctrl+w', 'enter')],
    ['a search before Enter', keys('ctrl+r', 't', 'enter')],
    ['a combining character, Backspace and Enter', keys('u', '\u0302', 'backspace', 'enter')],
    ['bytes that are no text', bytes('\xff\r')],
    ['a byte that readline may take for Alt and a key', bytes('\xae\r')],
    ['Ctrl-C before a line', bytes('\x03ls\r')],
  ])('is not entered: %s', ([, last]) => {
    const typing = after([typed('touc')]);
    expect(decide(typing, last)).toMatchObject({ kind: 'refuse' });
  });

  test.for<[string, Typed]>([
    ['Ctrl-O', keys('ctrl+o')],
    ['Ctrl-X Ctrl-E', keys('ctrl+x', 'ctrl+e')],
    ['the first half of it', keys('ctrl+x')],
    ['Escape, after which keys do other things', keys('esc')],
    ['Alt and a key that runs the line in zsh', keys('alt+a')],
    ['Alt and #', keys('alt+#')],
    ['Alt and Enter', keys('alt+enter')],
    ['Alt and a digit', keys('alt+5', 'x')],
    ['a paste that does not end', bytes('\x1b[200~x')],
    ['a paste with a control character', bytes('\x1b[200~x\x03y\x1b[201~')],
  ])('is not entered by a key that may run it: %s', ([, last]) => {
    expect(decide(after([typed('touch x')]), last)).toMatchObject({ kind: 'refuse' });
  });

  test.for<[string, Typed[]]>([
    ['an arrow', [typed('ls'), keys('left')]],
    ['a completion', [typed('ls'), bytes('\t')]],
    ['Ctrl-W', [typed('ls x'), keys('ctrl+w')]],
    ['a character that is not ASCII and Backspace', [typed('ls😀'), keys('backspace')]],
  ])('is what the terminal shows after %s, and Enter comes alone', ([, before]) => {
    const typing = after(before);
    expect(typing.needsLook(Buffer.from('\r'), bash())).toBe(true);
    expect(typing.needsLook(Buffer.from('x'), bash())).toBe(false);
    const enter = keys('enter');
    expect(decide(typing, enter, shows('rm x'))).toEqual({ kind: 'enter', commands: 'rm x', isShown: true });
    // More is typed behind it, spaces counting.
    expect(decide(typing, entered('M'), shows('touch '))).toMatchObject({
      commands: 'touch M',
      isShown: true,
    });
    // In the middle of it.
    const middle = bash({ promptLine: 'touch M', beforeCursor: 'tou' });
    expect(decide(typing, entered('x'), middle)).toMatchObject({ kind: 'refuse' });
    // What stands behind the cursor may be a suggestion.
    const suggested = bash({ promptLine: 'rm -rf /tmp/x', beforeCursor: 'rm -rf /' });
    expect(decide(typing, enter, suggested)).toMatchObject({ commands: 'rm -rf /tmp/x\nrm -rf /' });
    // Nothing is shown: it may be there all the same, without echo.
    expect(decide(typing, enter, shows(''))).toMatchObject({ kind: 'refuse' });
    expect(decide(typing, entered('ls'), shows(''))).toEqual({ kind: 'verify', commands: 'ls', line: 'ls' });
    expect(decide(typing, entered('ls\nls'), shows(''))).toMatchObject({ kind: 'refuse' });
    expect(decide(typing, enter, bash({ promptLine: undefined }))).toMatchObject({ kind: 'refuse' });
  });

  test.for<[string, Typed]>([
    ['Ctrl-W', keys('ctrl+w')],
    ['Ctrl-R', keys('ctrl+r')],
    ['Ctrl-D', keys('ctrl+d')],
    ['Ctrl-V', keys('ctrl+v')],
    ['Ctrl-H', bytes('\b')],
    ['an arrow', keys('left')],
    ['an accent and Backspace', keys('é', 'backspace')],
  ])('of a shell without a line editor is nobody’s to know after %s', ([, key]) => {
    const typing = after([typed('echo touch M'), key], sh());
    expect(decide(typing, keys('enter'), sh())).toMatchObject({ kind: 'refuse' });
    commit(typing, keys('ctrl+c'), sh());
    expect(decide(typing, entered('ls'), sh())).toMatchObject({ kind: 'refuse' });
    expect(runs(typing, entered('ls'), sh({ prompts: 2 }))).toBe('ls');
  });

  test('is empty after Ctrl-C if a prompt came of it', () => {
    const typing = after([typed('touch M'), keys('ctrl+c')]);
    expect(runs(typing, entered('ls'), bash({ prompts: 2 }))).toBe('ls');
    // `stty intr` has made another key of it.
    expect(runs(typing, keys('enter'), shows('touch M'))).toBe('touch M');
    expect(runs(typing, keys('enter'), shows(''))).toBe('refused');
  });

  test('is not known where keys were changed', () => {
    expect(runs(createTyping(), entered('ls'), sh({ lineKeys: 'changed' }))).toBe('refused');
    const other = sh({ lineKeys: 'unusual' });
    expect(runs(createTyping(), entered('ls'), other)).toBe('ls');
    expect(runs(after([typed('lsx'), keys('backspace')], other), keys('enter'), other)).toBe('refused');
    expect(runs(after([typed('ls'), keys('ctrl+u')], other), keys('enter'), other)).toBe('refused');
  });

  test.for(['^a^b^', '!!:s/a/b/', 'echo !$', '!touch', 'true; !-2', 'x "!x"'])(
    'becomes another by history expansion: %s',
    (line) => {
      expect(runs(createTyping(), entered(line), bash({ expandsHistory: true }))).toBe('refused');
      expect(runs(createTyping(), entered(line))).toBe(line);
      expect(runs(createTyping(), entered(`set -H\n${line}`))).toBe('refused');
    },
  );

  test.for(['[ ! -e x ]', 'test a != b', 'echo hello!', 'if ! true; then ls; fi'])(
    'has no history expansion: %s',
    (line) => expect(runs(createTyping(), entered(line), bash({ expandsHistory: true }))).toBe(line),
  );

  test.for<[string, Typed, string]>([
    ['a line', entered('touch M'), 'touch M'],
    ['keys and Enter', keys('left', 'enter'), 'refused'],
    ['a completion', entered('ls\t'), 'refused'],
  ])('while a program does not read: %s', ([, each, expected]) => {
    const busy = bash({ isShellInFront: false, promptLine: undefined, beforeCursor: undefined });
    for (const shell of [busy, { ...busy, lineKeys: 'usual' as const }])
      expect(runs(createTyping(), each, shell)).toBe(expected);
  });

  test('may have been left by a program, a person or another server', () => {
    const busy = bash({ isShellInFront: false, lineKeys: 'usual' });
    const early = after([typed('touch M')], busy);
    const passed = createTyping();
    passed.pass(Buffer.from('q'));
    const forgotten = createTyping();
    forgotten.forget();
    for (const typing of [early, passed, forgotten]) {
      expect(runs(typing, keys('enter'), shows('touch M'))).toBe('touch M');
      expect(decide(typing, entered('ls'), shows(''))).toMatchObject({ kind: 'verify' });
    }
    expect(runs(createTyping(), keys('enter'), { ...shows('touch M'), byPerson: 1 })).toBe('touch M');
  });

  test.for(['x\r', '\x03', '\x04'])('is certain after a program was sent %j', (text) => {
    const typing = createTyping();
    typing.pass(Buffer.from(text));
    expect(runs(typing, entered('ls'))).toBe('ls');
  });
});

describe('under a list', () => {
  const strict = (shell: ShellFacts): ShellFacts => ({ ...shell, isStrict: true });
  const emacs = strict(bash());
  const vi = strict(bash({ editing: 'other' }));
  const silent = strict(bash({ editing: undefined }));
  const early = strict(bash({ isShellInFront: false, promptLine: undefined, beforeCursor: undefined }));

  test.for<[string, Typed, readonly string[]]>([
    ['text', typed('v'), ['emacs', 'vi', 'silent', 'early']],
    ['Ctrl-C', keys('ctrl+c'), ['emacs', 'vi', 'silent', 'early']],
    ['Ctrl-Z', keys('ctrl+z'), ['emacs', 'vi', 'silent', 'early']],
    ['Backspace', keys('backspace'), ['emacs', 'vi', 'silent']],
    ['Ctrl-D', keys('ctrl+d'), ['emacs', 'vi', 'silent']],
    ['Alt and a letter', keys('alt+l'), ['emacs']],
    ['an arrow', keys('left'), ['emacs']],
    ['Ctrl and an arrow', keys('ctrl+left'), ['emacs']],
    ['Escape', keys('esc'), []],
    ['Ctrl-O', keys('ctrl+o'), []],
    ['a character whose bytes are keys in another locale', keys('Í'), []],
  ])('is sent without Enter by the keys of the shell: %s', ([, each, expected]) => {
    const shells = { emacs, vi, silent, early };
    const sent = Object.entries(shells).filter(
      ([, shell]) => decide(after([typed('touch x')], shell), each, shell).kind === 'open',
    );
    expect(sent.map(([name]) => name)).toEqual(expected);
  });

  test('keys are those of the shell only when what was entered has ended', () => {
    const typing = after([entered('set -o vi')], emacs);
    expect(decide(typing, keys('left'), emacs)).toMatchObject({ kind: 'refuse' });
    expect(decide(typing, keys('left'), { ...emacs, prompts: 2 })).toEqual({ kind: 'open' });
  });

  test('what a program may leave of a line that is typed ahead is judged', () => {
    expect(decide(createTyping(), entered('xls'), early)).toEqual({
      kind: 'enter',
      commands: 'xls',
      isShown: false,
      left: ['xls', 'ls', 's'],
    });
    expect(decide(createTyping(), entered('x'.repeat(201)), early)).toMatchObject({ kind: 'refuse' });
  });

  test('keys that erase are those of the terminal', () => {
    const unusual = strict(bash({ editorKeys: 'unusual' }));
    expect(runs(after([typed('lsx'), keys('ctrl+u')], unusual), entered(''), unusual)).toBe('refused');
    const changed = strict(bash({ editorKeys: 'changed' }));
    expect(decide(createTyping(), typed('x'), changed)).toMatchObject({ kind: 'refuse' });
    expect(decide(createTyping(), keys('ctrl+c'), changed)).toEqual({ kind: 'open' });
  });
});
