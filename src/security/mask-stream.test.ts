import { describe, expect, test } from 'vitest';
import { createMasker } from './mask-stream.ts';

function maskIn(chunks: readonly (string | Uint8Array)[], secrets: readonly string[]): string {
  const masker = createMasker(secrets);
  const parts = chunks.map((chunk) => Buffer.from(masker.push(Buffer.from(chunk))));
  return Buffer.concat([...parts, masker.rest()]).toString('utf8');
}

/** Numbers that look random and are the same in every run. */
function createNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function cutAt(text: Buffer, next: (below: number) => number): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < text.length; ) {
    const length = next(4) === 0 ? 1 : 1 + next(12);
    chunks.push(text.subarray(at, at + length));
    at += length;
  }
  return chunks;
}

describe('a secret in a stream', () => {
  test('is masked, and the rest is not', () => {
    expect(maskIn(['token=hunter22 and more'], ['hunter22'])).toBe('token=*** and more');
    expect(maskIn(['hunter22hunter22'], ['hunter22'])).toBe('******');
    expect(maskIn(['nothing here'], ['hunter22'])).toBe('nothing here');
    expect(maskIn(['nothing here'], [])).toBe('nothing here');
    expect(maskIn([], ['hunter22'])).toBe('');
  });

  test('is masked wherever the stream is cut', () => {
    const text = 'a hunter22 b';
    for (let at = 0; at <= text.length; at++) {
      expect(maskIn([text.slice(0, at), text.slice(at)], ['hunter22']), String(at)).toBe('a *** b');
    }
    expect(maskIn(text.split(''), ['hunter22'])).toBe('a *** b');
  });

  test('that was only begun is passed on in the end', () => {
    expect(maskIn(['a hunter2'], ['hunter22'])).toBe('a hunter2');
    expect(maskIn(['hunter', 'hunter22', 'hunter2'], ['hunter22'])).toBe('hunter***hunter2');
  });

  test('that begins again within itself is found', () => {
    expect(maskIn(['aab', 'aabaac'], ['aabaac'])).toBe('aab***');
    expect(maskIn('aabaabaac'.split(''), ['aabaac'])).toBe('aab***');
  });

  test('in bytes that are no text is found too, and those stay as they are', () => {
    const masker = createMasker(['pässwörd']);
    const secret = Buffer.from('pässwörd');
    const noise = Buffer.from([0xff, 0x00, 0xc3]);
    const masked = [
      masker.push(Buffer.concat([noise, secret.subarray(0, 2)])),
      masker.push(Buffer.concat([secret.subarray(2), noise])),
      masker.rest(),
    ];
    expect(Buffer.concat(masked)).toEqual(Buffer.concat([noise, Buffer.from('***'), noise]));
  });

  test('is not held back longer than it may be one', () => {
    const masker = createMasker(['hunter22']);
    expect(Buffer.from(masker.push(Buffer.from('ready? hunt'))).toString()).toBe('ready? ');
    expect(Buffer.from(masker.push(Buffer.from('ing'))).toString()).toBe('hunting');
    expect(masker.rest()).toHaveLength(0);
  });

  test('is kept though the buffer of a chunk is used again', () => {
    const masker = createMasker(['hunter22']);
    const shared = Buffer.from('xx hunte');
    const first = Buffer.from(masker.push(shared));
    shared.fill('!');
    const second = Buffer.from(masker.push(Buffer.from('r22 yy')));
    expect(Buffer.concat([first, second, masker.rest()]).toString()).toBe('xx *** yy');
  });
});

describe('several secrets', () => {
  test('of which one begins with another are masked whole', () => {
    const secrets = ['hunter22', 'hunter22-and-more'];
    expect(maskIn(['x hunter22-and-more y'], secrets)).toBe('x *** y');
    expect(maskIn(['x hunter22 y'], secrets)).toBe('x *** y');
  });

  test('of which one begins with another are masked whole, wherever the stream is cut', () => {
    const text = 'x hunter22-and-more y';
    for (let at = 0; at <= text.length; at++) {
      const chunks = [text.slice(0, at), text.slice(at)];
      expect(maskIn(chunks, ['hunter22', 'hunter22-and-more']), String(at)).toBe('x *** y');
    }
  });

  test('of which one lies in another are masked whole, wherever the stream is cut', () => {
    const text = 'x user:hunter22@host y';
    for (let at = 0; at <= text.length; at++) {
      const chunks = [text.slice(0, at), text.slice(at)];
      expect(maskIn(chunks, ['hunter22', 'user:hunter22@host']), String(at)).toBe('x *** y');
    }
  });

  test('that overlap show nothing of the first', () => {
    expect(maskIn(['abcdefgh12'], ['abcdefgh', 'efgh12'])).toBe('***12');
    expect(maskIn(['abcdefgh', '12'], ['abcdefgh', 'efgh12'])).toBe('***12');
  });
});

describe.each([
  ['of one secret', ['abac']],
  ['of secrets that are unlike', ['abca', 'ccb']],
  ['of secrets in one another', ['ab', 'abc', 'cabca']],
  ['of secrets that overlap', ['abcab', 'cabc', 'bb']],
])('a stream %s', (_, secrets) => {
  test('is masked as its whole would be, however it is cut', () => {
    const next = createNumbers(20_250_101);
    const wrong: string[] = [];
    for (let round = 0; round < 400; round++) {
      const text = Buffer.from(Array.from({ length: 5 + next(60) }, () => 'abc'.charCodeAt(next(3))));
      const whole = maskIn([text], secrets);
      const chunks = cutAt(text, next);
      const masked = maskIn(chunks, secrets);
      if (masked !== whole) wrong.push(`${chunks.join('|')}: ${masked}, not ${whole}`);
    }
    expect(wrong.slice(0, 3)).toEqual([]);
  });
});
