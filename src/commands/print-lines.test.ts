import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { createLineWriter, type LineWriter } from './print-lines.ts';

async function written(use: (writer: LineWriter) => Promise<void>, isRaw = false): Promise<string> {
  const output = new PassThrough();
  const read = text(output);
  const writer = createLineWriter(output, isRaw);
  await use(writer);
  await writer.end();
  output.end();
  return read;
}

describe('a line', () => {
  test.each([
    ['colours', '\u001b[31mred\u001b[0m\n', 'red\n'],
    ['what clears the screen', 'a\u001b[2J\u001b[Hb\n', 'ab\n'],
    ['a title', '\u001b]0;owned\u0007x\n', 'x\n'],
    ['a C1 control', 'a\u009b2Jb\n', 'a\\x9b2Jb\n'],
    ['text from right to left', '\u202egpj.exe\n', '\\u{202e}gpj.exe\n'],
    ['progress', '10%\r20%\r30%\n', '30%\n'],
    ['a line end of Windows', 'one\r\ntwo\r\n', 'one\ntwo\n'],
    ['a tab', 'a\tb\n', 'a\tb\n'],
    ['no line end', 'last', 'last\n'],
    ['nothing', '', ''],
    ['empty lines', '\n\n', '\n\n'],
  ])('with %s is shown as a terminal shows it', async (_, input, shown) => {
    expect(await written(async (writer) => writer.write(Buffer.from(input)))).toBe(shown);
    // Wherever the bytes are cut.
    const byByte = await written(async (writer) => {
      for (const byte of Buffer.from(input)) await writer.write(Buffer.from([byte]));
    });
    expect(byByte).toBe(shown);
  });

  test('without an end is shown while it waits, and goes on from there', async () => {
    const shown = await written(async (writer) => {
      await writer.write(Buffer.from('Name? '));
      writer.showPartial();
      writer.showPartial();
      await writer.write(Buffer.from('Ada\nnext\n'));
    });
    expect(shown).toBe('Name? Ada\nnext\n');
  });

  test('that is written over after it was shown comes in a line of its own', async () => {
    const shown = await written(async (writer) => {
      await writer.write(Buffer.from('10%'));
      writer.showPartial();
      await writer.write(Buffer.from('\r20%\n'));
    });
    expect(shown).toBe('10%\n20%\n');
  });
});

test('raw, every byte passes as it is', async () => {
  const output = new PassThrough();
  const writer = createLineWriter(output, true);
  const bytes = Buffer.from([0x1b, 0x5b, 0x32, 0x4a, 0xff, 0x0d, 0x0a, 0x00]);
  await writer.write(bytes);
  await writer.note('not written');
  await writer.end();
  expect(output.read()).toEqual(bytes);
});
