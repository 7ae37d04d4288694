import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createDirectories } from './directories.ts';

/** A private /tmp, /var/tmp and cache for each principal, as the sandbox keeps them. */
let state = '';
beforeEach(() => {
  state = mkdtempSync(join(realpathSync(tmpdir()), 'directories-'));
  for (const principal of ['one', 'two'])
    for (const name of ['tmp', 'var-tmp', 'cache'])
      mkdirSync(join(state, principal, name), { recursive: true });
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

function hostPathOf(path: string, principal: string): string {
  for (const [root, name] of [
    ['/tmp', 'tmp'],
    ['/var/tmp', 'var-tmp'],
    ['/home/someone/.cache', 'cache'],
  ] as const) {
    if (path === root || path.startsWith(`${root}/`))
      return join(state, principal, name, path.slice(root.length));
  }
  return path;
}

const check = (path: string, principal = 'one', allowed?: readonly string[], relativeTo = '/'): string =>
  createDirectories(() => allowed, hostPathOf).check(path, relativeTo, { principal });

describe('a directory in a private /tmp', () => {
  test('is known by the name that commands use', () => {
    mkdirSync(join(state, 'one/tmp/build/out'), { recursive: true });
    expect(check('/tmp/build')).toBe('/tmp/build');
    expect(check('/tmp/build/../build/out/')).toBe('/tmp/build/out');
    expect(check('out', 'one', undefined, '/tmp/build')).toBe('/tmp/build/out');
  });

  test('may be /tmp itself, though nothing was run yet', () => {
    rmSync(join(state, 'one'), { recursive: true });
    expect(check('/tmp')).toBe('/tmp');
    expect(check('/var/tmp')).toBe('/var/tmp');
  });

  test('is another for another principal', () => {
    mkdirSync(join(state, 'one/tmp/mine'));
    expect(check('/tmp/mine', 'one')).toBe('/tmp/mine');
    expect(() => check('/tmp/mine', 'two')).toThrow(expect.objectContaining({ code: 'PARAM_002' }));
  });

  test('of /var/tmp is not that of /tmp', () => {
    mkdirSync(join(state, 'one/var-tmp/kept'));
    expect(check('/var/tmp/kept')).toBe('/var/tmp/kept');
    expect(() => check('/tmp/kept')).toThrow(/does not exist/);
  });

  test('may lie in a private cache as well', () => {
    mkdirSync(join(state, 'one/cache/tool/part'), { recursive: true });
    symlinkSync('/etc', join(state, 'one/cache/link'));
    for (const path of ['', '/tool', '/tool/part'])
      expect(check(`/home/someone/.cache${path}`)).toBe(`/home/someone/.cache${path}`);
    expect(() => check('/home/someone/.cache/link')).toThrow(/is a link/);
    expect(() => check('/home/someone/.cache/tool/gone')).toThrow(
      expect.objectContaining({
        code: 'PARAM_002',
        hint: 'The nearest directory that exists is /home/someone/.cache/tool.',
      }),
    );
  });

  test('that is not there, or a file, is refused without a word of where it lies on the host', () => {
    writeFileSync(join(state, 'one/tmp/file'), '');
    for (const path of ['/tmp/gone', '/tmp/gone/deeper', '/tmp/file', '/tmp/file/below']) {
      let told: unknown;
      try {
        check(path);
      } catch (error) {
        told = error;
      }
      expect(told, path).toMatchObject({ code: 'PARAM_002' });
      const { message, hint, details } = told as { message: string; hint: string; details: unknown };
      expect(`${message} ${hint} ${JSON.stringify(details)}`, path).not.toContain(state);
    }
  });

  test('that is not there is answered with the nearest that is, as commands see it', () => {
    mkdirSync(join(state, 'one/tmp/build'));
    expect(() => check('/tmp/build/gone')).toThrow(
      expect.objectContaining({ hint: 'The nearest directory that exists is /tmp/build.' }),
    );
    // The state directory of this test lies in the host's /tmp.
    expect(() => check(join(state, 'gone'))).toThrow(
      expect.objectContaining({ hint: 'The nearest directory that exists is /tmp.' }),
    );
  });

  test('and the host’s own /tmp are two: what is only there does not exist', () => {
    // The state directory of this test lies in the host's /tmp.
    expect(() => check(state)).toThrow(expect.objectContaining({ code: 'PARAM_002' }));
  });

  test('cannot be a link that leads out of it', () => {
    symlinkSync('/etc', join(state, 'one/tmp/etc'));
    symlinkSync(join(state, 'two/tmp'), join(state, 'one/tmp/theirs'));
    symlinkSync('../../two/tmp', join(state, 'one/tmp/relative'));
    symlinkSync('/tmp', join(state, 'one/tmp/circle'));
    mkdirSync(join(state, 'two/tmp/inner'));
    for (const name of ['etc', 'theirs', 'relative', 'circle', 'theirs/inner', 'etc/ssl']) {
      expect(() => check(`/tmp/${name}`), name).toThrow(expect.objectContaining({ code: 'PARAM_002' }));
    }
  });

  test('may be a link that stays inside', () => {
    mkdirSync(join(state, 'one/tmp/real'));
    symlinkSync('real', join(state, 'one/tmp/link'));
    expect(check('/tmp/link')).toBe('/tmp/link');
  });

  test('must be allowed like any other', () => {
    mkdirSync(join(state, 'one/tmp/build'));
    expect(() => check('/tmp/build', 'one', ['/srv/project'])).toThrow(
      expect.objectContaining({ code: 'SECURITY_002' }),
    );
    expect(() => check('/tmp', 'one', ['/srv/project'])).toThrow(
      expect.objectContaining({ code: 'SECURITY_002' }),
    );
    expect(check('/tmp/build', 'one', ['/tmp'])).toBe('/tmp/build');
  });

  test.for(['/tmp/../etc', '/tmp/build/../../etc', '/tmpx', '/var/tmpx', '/tmp/..'])(
    'is not meant by %s',
    (path) => {
      mkdirSync(join(state, 'one/tmp/build'));
      let answer: string;
      try {
        answer = check(path);
      } catch (error) {
        answer = (error as { code: string }).code;
      }
      expect(['/etc', '/', 'PARAM_002']).toContain(answer);
    },
  );
});

test('a directory elsewhere is looked at where it is', () => {
  expect(check('/usr/bin/..')).toBe(realpathSync('/usr'));
  expect(() => check('/usr/gone')).toThrow(/does not exist/);
});

test('a refusal names the parameter as the caller does', () => {
  const { check: plain } = createDirectories(() => undefined, hostPathOf);
  expect(() => plain('/tmp/gone', '/', { principal: 'one', parameter: 'path' })).toThrow(
    /^path \/tmp\/gone does not/,
  );
});
