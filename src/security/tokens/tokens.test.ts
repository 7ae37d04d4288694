import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLog, silentLog } from '../../base/log.ts';
import { createToken, isExpired, listTokens, revokeToken, type TokenWish, watchTokens } from './tokens.ts';

const NOW = Date.parse('2026-11-15T10:00:00.000Z');

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(realpathSync(tmpdir()), 'tokens-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const file = (): string => join(directory, 'tokens.json');
const make = (wish: TokenWish): ReturnType<typeof createToken> =>
  createToken(directory, wish, { nowMs: NOW, record: () => undefined });

describe('a token', () => {
  it('is told once, and kept as a hash that only its owner can read', async () => {
    const { token, stored } = await make({
      name: 'ci',
      tools: ['simple'],
      isReadOnly: true,
      preset: 'sandbox',
    });
    expect(token).toMatch(/^mcpsh_[\w-]{43}$/);
    expect(stored).toEqual({
      name: 'ci',
      principal: 'ci',
      sha256: createHash('sha256').update(token).digest('hex'),
      createdAt: '2026-11-15T10:00:00.000Z',
      preset: 'sandbox',
      tools: ['simple'],
      isReadOnly: true,
    });
    expect(readFileSync(file(), 'utf8')).not.toContain(token);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(listTokens(directory)).toEqual([stored]);
    expect(existsSync(`${file()}.lock`)).toBe(false);
  });

  it.each([
    '',
    ' ',
    'a b',
    '../x',
    '.hidden',
    'a\nb',
    'ä',
    'x'.repeat(65),
    'local',
    'operator',
    'server',
    'nobody',
  ])('cannot be called %j', async (name) => {
    await expect(make({ name })).rejects.toMatchObject({ code: 'PARAM_002' });
    expect(listTokens(directory)).toEqual([]);
  });

  it.each(['operator', 'server', 'a b'])('cannot open the work of %j', async (principal) => {
    await expect(make({ name: 'x', principal })).rejects.toMatchObject({ code: 'PARAM_002' });
  });

  it('opens the work of another principal where that is said', async () => {
    await make({ name: 'mine', principal: 'local' });
    expect(listTokens(directory)).toMatchObject([{ name: 'mine', principal: 'local' }]);
  });

  it('has a name of its own, unless it takes the place of another', async () => {
    const { token: first } = await make({ name: 'ci' });
    await expect(make({ name: 'ci' })).rejects.toMatchObject({ code: 'RESOURCE_004' });
    const { token: second } = await make({ name: 'ci', replaces: true });
    expect(second).not.toBe(first);
    expect(listTokens(directory)).toHaveLength(1);
  });

  it('has the preset of its principal', async () => {
    await make({ name: 'a', preset: 'production' });
    for (const preset of [undefined, 'sandbox'] as const) {
      await expect(make({ name: 'b', principal: 'a', preset })).rejects.toMatchObject({ code: 'PARAM_002' });
    }
    await make({ name: 'b', principal: 'a', preset: 'production' });
    await make({ name: 'c' });
    expect(listTokens(directory)).toHaveLength(3);
  });

  it('is not made, and not revoked, where that cannot be recorded', async () => {
    const record = (): never => {
      throw new Error('no room');
    };
    await expect(createToken(directory, { name: 'a' }, { nowMs: NOW, record })).rejects.toThrow('no room');
    expect(listTokens(directory)).toEqual([]);
    await make({ name: 'a' });
    await expect(revokeToken(directory, 'a', record)).rejects.toThrow('no room');
    expect(listTokens(directory)).toHaveLength(1);
  });

  it('is not lost where many are made at once', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `t${index}`);
    await Promise.all(names.map((name) => make({ name })));
    expect(
      listTokens(directory)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(names.sort());
  });

  it('ends at its time', async () => {
    const { stored } = await make({ name: 'a', expiresAtMs: NOW + 1000 });
    expect([NOW, NOW + 999, NOW + 1000, NOW + 5000].map((at) => isExpired(stored, at))).toEqual([
      false,
      false,
      true,
      true,
    ]);
    expect(isExpired((await make({ name: 'b' })).stored, Number.MAX_SAFE_INTEGER)).toBe(false);
  });
});

describe('a server that runs', () => {
  it('sees each change at its next look', async () => {
    const look = watchTokens({ stateDirectory: directory, log: silentLog });
    expect(look()).toEqual([]);
    await make({ name: 'a' });
    expect(look()).toMatchObject([{ name: 'a' }]);
    expect(look()).toBe(look());
    await revokeToken(directory, 'a', () => undefined);
    expect(look()).toEqual([]);
    await expect(revokeToken(directory, 'a', () => undefined)).rejects.toMatchObject({
      code: 'RESOURCE_001',
    });
  });

  it.each([
    '',
    '{',
    'null',
    '[]',
    '{"format":2,"tokens":[]}',
    '{"format":1}',
    '{"format":1,"tokens":[{"name":"a"}]}',
    '{"format":1,"tokens":[],"all":true}',
  ])('takes no token of a file that says %j, and says so', async (text) => {
    const logged: string[] = [];
    const log = createLog({ verbose: false, write: (line) => logged.push(line) });
    const look = watchTokens({ stateDirectory: directory, log });
    await make({ name: 'a' });
    expect(look()).toHaveLength(1);
    writeFileSync(file(), text);
    expect(look()).toEqual([]);
    expect(look()).toEqual([]);
    expect(logged).toHaveLength(1);
    await expect(make({ name: 'b' })).rejects.toMatchObject({ code: 'SYSTEM_003' });
  });
});
