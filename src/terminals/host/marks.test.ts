import { afterEach, describe, expect, test } from 'vitest';
import { type Marks, watchMarks } from './marks.ts';
import { createScreen, type Screen } from './screen.ts';

const NONCE = 'n0nce';
const opened: Screen[] = [];
afterEach(() => {
  for (const screen of opened.splice(0)) screen.dispose();
});

function watch(hasCommandMark = true): { marks: Marks; write(text: string): void } {
  const screen = createScreen({ columns: 20, rows: 5 });
  opened.push(screen);
  return {
    marks: watchMarks(screen, NONCE, hasCommandMark),
    write(text) {
      screen.write(Buffer.from(text));
    },
  };
}

const mark = (what: string, nonce = NONCE): string => `\u001B]133;${what};aid=${nonce}\u0007`;
const PROMPT = `${mark('A')}$ ${mark('B')}`;
/** What a shell writes of one command. */
const ran = (typed: string, output: string, code: number): string =>
  `${typed}\r\n${mark('C')}${output}${mark(`D;${code}`)}${PROMPT}`;

describe('a shell that marks its commands', () => {
  test('tells what it does, how a command ended and what it wrote', () => {
    const { marks, write } = watch();
    expect(marks.state).toBe('unknown');
    write(PROMPT);
    expect([marks.state, marks.finished, marks.lastExitCode]).toEqual(['prompt', 0, undefined]);
    write(`ls\r\n${mark('C')}one\r\n`);
    expect([marks.state, marks.finished, marks.begun]).toEqual(['running', 0, 1]);
    write(`two\r\n${mark('D;3')}${PROMPT}`);
    expect([marks.state, marks.finished, marks.lastExitCode]).toEqual(['prompt', 1, 3]);
    expect(marks.lastCommand).toMatchObject({
      exitCode: 3,
      output: 'one\r\ntwo\r\n'.replaceAll('\r', ''),
      isCut: false,
    });
  });

  test.for([
    ['no newline at the end', 'abc', 'abc'],
    ['nothing at all', '', ''],
    ['lines longer than the screen', `${'x'.repeat(50)}\r\nend\r\n`, `${'x'.repeat(50)}\nend\n`],
    ['more than the screen holds', '1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n', '1\n2\n3\n4\n5\n6\n7\n'],
    ['what is written over', '10%\r99%\r\n', '99%\n'],
    ['spaces', '  a\r\n', '  a\n'],
    ['wide characters that do not fit', `x${'漢'.repeat(15)}\r\n`, `x${'漢'.repeat(15)}\n`],
    ['a blank before a wide character', `${'x'.repeat(19)} 漢\r\n`, `${'x'.repeat(19)} 漢\n`],
  ] as const)('of %s', ([, output, expected]) => {
    const { marks, write } = watch();
    write(PROMPT + ran('run', output, 0));
    expect(marks.lastCommand?.output).toBe(expected);
  });

  test.each([`x${'漢'.repeat(15)}`, `${'x'.repeat(17)} y z`, `${'x'.repeat(17)} 漢`])(
    'knows a line of several rows: %j',
    (line) => {
      const { marks, write } = watch();
      write(PROMPT + line);
      expect([marks.promptLine(), marks.beforeCursor()]).toEqual([line, line]);
    },
  );

  test('marks of another are ignored, whatever they say', () => {
    const { marks, write } = watch();
    write(`${PROMPT}x\r\n${mark('C')}`);
    for (const lie of [
      mark('D;0', 'other'),
      mark('D;0', ''),
      '\u001B]133;D;0\u0007',
      `\u001B]133;D;0;aid=${NONCE};x\u0007`,
      `\u001B]133;D;0;aid=${NONCE.slice(0, -1)}\u0007`,
      mark('A', 'other'),
    ])
      write(lie);
    expect([marks.state, marks.finished]).toEqual(['running', 0]);
  });

  test('an empty line ends nothing', () => {
    const { marks, write } = watch();
    write(PROMPT + ran('false', '', 1));
    write(`\r\n${mark('D;1')}${PROMPT}`);
    expect(marks.finished).toBe(1);
  });

  test('of several commands in one paste, the output is that of all', () => {
    const { marks, write } = watch();
    write(`${PROMPT}a; b\r\n${mark('C')}one\r\n${mark('C')}two\r\n${mark('D;4')}${PROMPT}`);
    expect(marks.lastCommand).toMatchObject({ output: 'one\ntwo\n', exitCode: 4, number: 1, begun: 1 });
  });

  test('an output whose beginning has left memory says so', () => {
    const { marks, write } = watch();
    const lines = Array.from({ length: 6000 }, (_, index) => `${index}\r\n`).join('');
    write(PROMPT + ran('seq', lines, 0));
    expect(marks.lastCommand?.isCut).toBe(true);
    expect(marks.lastCommand?.output.endsWith('5998\n5999\n')).toBe(true);
  });
});

describe('a shell that only marks its prompts', () => {
  const plain = (code: number): string => `${mark(`D;${code}`)}${mark('A')}# ${mark('B')}`;

  test('tells the same when the next prompt comes', () => {
    const { marks, write } = watch(false);
    write(plain(0));
    expect([marks.finished, marks.isIdle]).toEqual([0, true]);
    const before = marks.begun;
    write('printf abc\r\n');
    expect(marks.isIdle).toBe(false);
    write(`abc${plain(2)}`);
    expect(marks.lastCommand).toMatchObject({ exitCode: 2, output: 'abc', number: 1 });
    expect(marks.lastCommand?.begun).toBeGreaterThan(before);
    expect([marks.isIdle, marks.lastExitCode]).toEqual([true, 2]);
  });

  test('an answer to a program that runs is no command of its own', () => {
    const { marks, write } = watch(false);
    write(`${plain(0)}read x\r\n`);
    const before = marks.begun;
    write(`yes\r\n${plain(0)}`);
    expect(marks.lastCommand?.begun).toBe(before);
  });
});
