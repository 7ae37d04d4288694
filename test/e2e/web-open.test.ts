/** `web --open`: the link is opened by the operator's browser. */
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPlace, type Place } from './support/product.ts';
import { type RawProcess, startRaw } from './support/raw-process.ts';

let place: Place;
let served: RawProcess | undefined;
beforeEach(() => {
  place = createPlace();
});
afterEach(async () => {
  if (served?.child.exitCode === null) {
    const exited = once(served.child, 'exit');
    served.kill();
    await exited;
  }
  place.remove();
});

/** A program that notes its arguments. */
function makeBrowser(name: string): { readonly path: string; opened(): string } {
  const directory = join(place.directory, 'bin');
  mkdirSync(directory, { recursive: true });
  const [path, note] = [join(directory, name), join(place.directory, `${name} was given`)];
  writeFileSync(path, `#!/bin/sh\nprintf '%s\\n' "$@" > '${note}.new'; /bin/mv '${note}.new' '${note}'\n`);
  chmodSync(path, 0o755);
  return { path, opened: () => (existsSync(note) ? readFileSync(note, 'utf8') : '') };
}

const open = (env: Readonly<Record<string, string>>): RawProcess => {
  served = startRaw(place.command(['web', '--open'], env));
  return served;
};
const linkIn = ({ stdout }: RawProcess): string => /http:\S+#\S+(?=\n)/.exec(stdout())?.[0] ?? 'none';

test.each([
  ['the one of BROWSER', 'firefox', (path: string) => ({ BROWSER: path, PATH: '/nowhere' })],
  ['the first one of BROWSER', 'firefox', (path: string) => ({ BROWSER: `${path}:w3m`, PATH: '/nowhere' })],
  ['that of the desktop', 'xdg-open', (path: string) => ({ BROWSER: '', PATH: join(path, '..') })],
])('by %s', async (_, name, env) => {
  const browser = makeBrowser(name);
  const web = open(env(browser.path));
  await expect.poll(browser.opened, { timeout: 60_000 }).not.toBe('');
  expect(browser.opened()).toBe(`${linkIn(web)}\n`);
});

test('or by the operator, where there is none', async () => {
  const web = open({ BROWSER: '', PATH: '/nowhere' });
  await expect
    .poll(() => web.stdout(), { timeout: 60_000 })
    .toContain('No browser could be opened. Open the link yourself.');
  expect(linkIn(web)).toMatch(/^http:/);
});
