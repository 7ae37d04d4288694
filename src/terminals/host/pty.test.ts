import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, openSync, readdirSync, writeSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openPty, type Pty } from './pty.ts';

/** As a program has it. */
const openSide = (pty: Pty): number => openSync(pty.path, constants.O_RDWR | constants.O_NOCTTY);

function collect(pty: Pty): { text(): string } {
  const chunks: Buffer[] = [];
  pty.onData((chunk) => chunks.push(Buffer.from(chunk)));
  return { text: () => Buffer.concat(chunks).toString() };
}

test('what was written before the end is read to the last byte, however slowly', async () => {
  const pty = openPty(80, 24);
  const read = collect(pty);
  pty.onData(() => {
    // Longer than one turn may take.
    for (const at = performance.now(); performance.now() - at < 12; );
  });
  const program = openSide(pty);
  const child = spawn('seq', ['1', '20000'], { stdio: [program, program, program] });
  closeSync(program);
  await new Promise((resolve) => child.once('exit', resolve));
  await pty.drain();
  expect(read.text()).toBe(Array.from({ length: 20_000 }, (_, index) => `${index + 1}\r\n`).join(''));
});

test('what looks like the end is none', async () => {
  const pty = openPty(80, 24);
  const read = collect(pty);
  const program = openSide(pty);
  const written = '0123456789'.repeat(200);
  writeSync(program, written);
  closeSync(program);
  await pty.drain();
  expect(read.text()).toBe(written);
});

test('one that was stopped ends too, and leaves no descriptor', async () => {
  const before = readdirSync('/dev/fd').length;
  const pty = openPty(80, 24);
  const read = collect(pty);
  const program = openSide(pty);
  execFileSync('stty', ['-F', pty.path, 'ixon']);
  writeSync(program, 'before');
  await expect.poll(read.text).toBe('before');
  expect(await pty.write(Buffer.from('\u0013'))).toBe(true);
  closeSync(program);
  await pty.drain();
  expect(read.text()).toBe('before');
  expect(await pty.write(Buffer.from('late'))).toBe(false);
  pty.resize(10, 10);
  expect(readdirSync('/dev/fd').length).toBe(before);
});
