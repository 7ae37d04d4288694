/** Chunks of dist/ as scripts, which V8 can be given a code cache for. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInThisContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asScript } from '../scripts/as-script.mjs';
import { makeCodeCaches } from '../scripts/code-cache.mjs';
import { ROOT } from './support/root.ts';

type Chunk = (require: unknown, load: unknown, later: unknown, meta: unknown) => unknown;

const run = (text: string, load: (path: string) => unknown = () => ({})): unknown =>
  (runInThisContext(asScript(`//\n${text}`, 'chunk.js')) as Chunk)(
    (name: string) => ({ name }),
    load,
    async (path: string) => load(path),
    { url: 'file:///dist/cli.js' },
  );

describe('a chunk as a script', () => {
  test('takes what it imports and returns what it exports', () => {
    const text =
      'import{a as b}from"./x.js";import c,{name as d}from"node:fs";import"./y.js";var e=b+1;export{e as f,c,d};';
    const loaded: string[] = [];
    const load = (path: string): unknown => {
      loaded.push(path);
      return { a: 1 };
    };
    expect(run(text, load)).toEqual({ f: 2, c: { name: 'node:fs' }, d: 'node:fs' });
    expect(loaded).toEqual(['./x.js', './y.js']);
  });

  test('loads later what it imports later, and knows its own address', async () => {
    const text = 'var a=()=>import("./x.js"),b=import.meta.url;export{a,b};';
    const { a, b } = run(text, (path) => ({ path })) as { a(): Promise<unknown>; b: string };
    expect(b).toBe('file:///dist/cli.js');
    await expect(a()).resolves.toEqual({ path: './x.js' });
  });

  test('is strict, and may wait', async () => {
    await expect(run('var a=await(async()=>this)();export{a};')).resolves.toEqual({ a: undefined });
    expect(() => run('a=1;')).toThrow(ReferenceError);
  });

  test('keeps the positions of its text, for the source map', () => {
    const text = 'import{a}from"./x.js";throw new Error("here");\n//# sourceMappingURL=chunk.js.map\n';
    const script = asScript(`//\n${text}`, 'chunk.js');
    expect(script.split('\n')[1]?.indexOf('throw')).toBe(text.indexOf('throw'));
    expect(script.split('\n').at(-2)).toBe('//# sourceMappingURL=chunk.js.map');
  });

  test.each(['let a=1;function b(){a=2}export{a,b};', 'let a=1;function b(){[a]=[2]}export{a,b};'])(
    'must not assign to what it exports once it is loaded: %s',
    (text) => expect(() => run(text)).toThrow('assigns a, which it exports'),
  );
});

/** What a disk and a loss of power make of a file. */
const DAMAGES: readonly ((bytes: Buffer) => Buffer)[] = [
  () => Buffer.from('not a cache'),
  () => Buffer.alloc(0),
  () => Buffer.alloc(3),
  (bytes) => bytes.subarray(0, bytes.length / 2),
  (bytes) => Buffer.from(bytes).fill(0, bytes.length / 2),
  (bytes) => Buffer.from(bytes).fill(0),
  ...[0.3, 0.6, 0.9].map((share) => (bytes: Buffer) => {
    const flipped = Buffer.from(bytes);
    const at = Math.floor(bytes.length * share);
    return flipped.fill((bytes[at] ?? 0) ^ 1, at, at + 1);
  }),
];

describe('code caches', () => {
  const own = `${process.version}-${process.platform}-${process.arch}`;
  const directory = mkdtempSync(join(tmpdir(), 'code-cache-'));
  const dist = join(directory, 'dist');
  const caches = join(dist, 'code-cache', own);
  beforeAll(async () => {
    cpSync(join(ROOT, 'dist'), dist, { recursive: true });
    writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
    symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
    // Built with another version, which runs these tests as well.
    if (!existsSync(caches)) await makeCodeCaches(dist);
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  const version = (): string =>
    execFileSync(process.execPath, [join(dist, 'cli.js'), '--version'], { encoding: 'utf8' });

  test('are accepted by the Node that built them', () => {
    const names = readdirSync(caches);
    expect(names).toEqual(
      expect.arrayContaining([expect.stringMatching(/^app-/), expect.stringMatching(/^cli-/)]),
    );
    const check = `
      const { setFlagsFromString } = require('node:v8');
      for (const flag of process.env.FLAGS.split(' ')) setFlagsFromString(flag);
      const [caches, chunks, ...names] = process.argv.slice(1);
      const read = require('node:fs').readFileSync;
      console.log(names.filter((name) => new (require('node:vm').Script)(read(chunks + name.slice(0, -4), 'utf8'),
        { cachedData: read(caches + name).subarray(0, -20) }).cachedDataRejected).join());`;
    const args = ['-e', check, `${caches}/`, `${join(dist, 'chunks')}/`];
    const rejectedOf = (those: readonly string[], flags: string): string[] => {
      const env = { FLAGS: ['--semi-space-growth-factor=1', flags].join(' ').trim() };
      return execFileSync(process.execPath, [...args, ...those], { encoding: 'utf8', env })
        .trim()
        .split(',');
    };
    // As load-script.mjs sets them for a server, and for the programs that it starts.
    const isOld = Number.parseInt(process.versions.v8, 10) < 12;
    const notServers = rejectedOf(names, isOld ? '--interrupt-budget=50000000' : '').filter(
      (name) => name !== '',
    );
    expect(notServers.filter((name) => /^(?:app|cli)-/.test(name))).toEqual([]);
    expect(rejectedOf(notServers, '')).toEqual(['']);
  });

  test('that are missing or damaged cost time and nothing else', () => {
    const whole = new Map(readdirSync(caches).map((name) => [name, readFileSync(join(caches, name))]));
    rmSync(caches, { recursive: true });
    expect(version()).toMatch(/^\d+\.\d+\.\d+/);
    mkdirSync(caches);
    for (const damage of DAMAGES) {
      for (const [name, bytes] of whole) writeFileSync(join(caches, name), damage(bytes));
      expect(version()).toMatch(/^\d+\.\d+\.\d+/);
    }
  });
});
