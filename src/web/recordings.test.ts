import { describe, expect, test } from 'vitest';
import { LIMITS } from '../base/limits.ts';
import type { ByteSource } from '../outputs/outputs.ts';
import { readRecordingPiece } from './recordings.ts';
import type { RecordedEvent } from './wire.ts';

function sourceOf(lines: readonly unknown[]): ByteSource {
  const bytes = Buffer.from(
    lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n') + '\n',
  );
  return {
    size: () => bytes.length,
    gaps: () => [],
    read: (offset: number, length: number) => bytes.subarray(offset, offset + length),
    close: () => undefined,
  };
}

const HEADER = { version: 2, width: 100, height: 30, title: 'x' };

describe('a recording', () => {
  test('comes with its size and length', () => {
    const source = sourceOf([
      HEADER,
      [0.5, 'o', 'a'],
      [1.25, 'r', '120x40'],
      [2, 'm', '5 bytes were not kept'],
    ]);
    expect(readRecordingPiece(source, 0)).toEqual({
      columns: 100,
      rows: 30,
      durationMs: 2000,
      events: [
        [500, 'o', 'a'],
        [1250, 'r', '120x40'],
        [2000, 'm', '5 bytes were not kept'],
      ],
    });
  });

  test('comes in pieces that lose nothing, whatever a byte is written as', () => {
    const lines = Array.from({ length: 40 }, (_, n) => [n, 'o', '\u0001'.repeat(64 * 1024)]);
    const source = sourceOf([HEADER, ...lines]);
    const events: RecordedEvent[] = [];
    let pieces = 0;
    for (let offset: number | undefined = 0; offset !== undefined; pieces++) {
      const piece = readRecordingPiece(source, offset);
      expect(piece.durationMs).toBe(39_000);
      events.push(...piece.events);
      offset = piece.nextOffset;
    }
    expect(pieces).toBeGreaterThan(10);
    expect(events.map(([at, , text]) => [at / 1000, 'o', text])).toEqual(lines);
  });

  test.each([
    [
      'an enormous resize',
      [1, 'r', '999999999x999999999'],
      [[1000, 'r', `${LIMITS.terminalWidth}x${LIMITS.terminalHeight}`]],
    ],
    ['a resize to nothing', [1, 'r', '0x0'], [[1000, 'r', '80x24']]],
    ['a resize without a size', [1, 'r', '../..'], []],
    ['a negative time', [-1, 'o', 'a'], []],
    ['no time', ['now', 'o', 'a'], []],
    ['no text', [1, 'o', { toString: 'a' }], []],
    ['input', [1, 'i', 'a'], []],
    ['half a line', '[1, "o", "a', []],
    ['no event', 'null', []],
  ])('with %s is played without it, or with what is possible', (_, line, events) => {
    expect(readRecordingPiece(sourceOf([HEADER, line]), 0).events).toEqual(events);
  });

  test.each([
    ['of something else', ['not JSON', 'nor this']],
    ['of one endless line', ['x'.repeat(3 * 1024 * 1024)]],
    ['that is empty', []],
    ['with an enormous screen', [{ width: 1e9, height: -5 }]],
  ])('%s ends', (_, lines) => {
    const { columns, rows, events, nextOffset } = readRecordingPiece(sourceOf(lines), 0);
    expect([events, nextOffset]).toEqual([[], undefined]);
    expect(columns).toBeLessThanOrEqual(LIMITS.terminalWidth);
    expect(rows).toBe(24);
  });
});
