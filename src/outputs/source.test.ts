import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readAll, useTestDirectory } from '../../test/support/outputs.ts';
import { createSink } from './sink.ts';
import { measureStream, openSource } from './source.ts';

const directory = useTestDirectory();

describe('openSource', () => {
  it('reads any range, and nothing outside', () => {
    const source = directory.source('0123456789');
    const read = (offset: number, length: number): string => source.read(offset, length).toString();
    expect([read(0, 3), read(8, 100), read(10, 5), read(99, 1), read(-1, 5), read(3, 0)]).toEqual([
      '012',
      '89',
      '',
      '',
      '',
      '',
    ]);
  });

  it('grows with its file, past the limit too', () => {
    const path = join(directory.path, 'stdout');
    let now = 0;
    const sink = createSink(path, { limitBytes: 4, tailBytes: 2, now: () => (now += 2000) });
    const source = directory.keep(openSource(path));
    const look = () => ({ size: source.size(), gaps: source.gaps(), all: readAll(source).toString() });
    expect(look()).toEqual({ size: 0, gaps: [], all: '' });
    sink.write(Buffer.from('abc'));
    expect(look()).toEqual({ size: 3, gaps: [], all: 'abc' });
    sink.write(Buffer.from('def'));
    expect(look()).toEqual({ size: 6, gaps: [], all: 'abcdef' });
    sink.write(Buffer.from('g'));
    expect(look()).toEqual({ size: 7, gaps: [{ from: 4, to: 5 }], all: 'abcdfg' });
    sink.close();
    expect(look()).toEqual({ size: 7, gaps: [{ from: 4, to: 5 }], all: 'abcdfg' });
  });

  it('reads nothing inside the gap, and up to it before it', () => {
    const source = directory.source('head', { totalBytes: 100, bytes: 'tail' });
    expect(source.gaps()).toEqual([{ from: 4, to: 96 }]);
    expect(source.read(2, 50).toString()).toBe('ad');
    expect(source.read(4, 50).toString()).toBe('');
    expect(source.read(95, 50).toString()).toBe('');
    expect(source.read(97, 50).toString()).toBe('ail');
  });

  it('takes a tail that makes no sense as no tail', () => {
    const path = join(directory.path, 'stdout');
    writeFileSync(path, 'content');
    writeFileSync(`${path}.tail`, 'not a number\nrest');
    expect(directory.keep(openSource(path)).size()).toBe(7);
    expect(measureStream(path)).toEqual({ totalBytes: 7, keptBytes: 7 });
  });

  it.each(['a link', 'a directory', 'a FIFO', 'nothing'])('finds no output where there is %s', (kind) => {
    const path = join(directory.path, 'stdout');
    if (kind === 'a link') symlinkSync('/etc/passwd', path);
    if (kind === 'a directory') mkdirSync(path);
    if (kind === 'a FIFO') execFileSync('mkfifo', [path]);
    expect(openSource(path)).toBeUndefined();
    expect(measureStream(path)).toBeUndefined();
  });

  it('does not follow a link in place of the tail', () => {
    const path = join(directory.path, 'stdout');
    writeFileSync(path, 'content');
    writeFileSync(join(directory.path, 'other'), '99\nsecret');
    symlinkSync(join(directory.path, 'other'), `${path}.tail`);
    expect(readAll(directory.keep(openSource(path))).toString()).toBe('content');
  });

  it('measures a stream without reading it', () => {
    const path = join(directory.path, 'stdout');
    writeFileSync(path, 'head');
    writeFileSync(`${path}.tail`, '1000\ntail');
    expect(measureStream(path)).toEqual({ totalBytes: 1000, keptBytes: 8 });
  });
});
