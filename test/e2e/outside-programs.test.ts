/** What the server runs outside the sandbox is never looked for where a command can put a program. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import { lacks, needs } from '../setup/needs.ts';
import { createPlace, startProduct } from './support/product.ts';

const cannot = lacks(process.platform !== 'linux', 'bubblewrap is for Linux') || needs('bwrap');

/** These an operator chooses by PATH: the sandbox itself, and what starts the server. */
const CHOSEN = new Set(['bwrap', 'node', 'strace']);

test.skipIf(cannot)('no program of the workspace runs outside, though PATH names it first', async () => {
  const place = createPlace();
  const log = join(place.directory, 'ran');
  const programs = join(place.work, 'node_modules/.bin');
  mkdirSync(programs, { recursive: true });
  const fake = join(programs, '.fake');
  // Outside the workspace: what runs inside the sandbox cannot write there.
  writeFileSync(
    fake,
    `#!/bin/sh\necho "$0" 2>/dev/null >> ${log}\nname="\${0##*/}"\nfor place in /usr/bin /bin /usr/sbin /sbin; do [ -x "$place/$name" ] && exec "$place/$name" "$@"; done\n`,
  );
  chmodSync(fake, 0o755);
  const names = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'].flatMap((each) =>
    existsSync(each) ? readdirSync(each) : [],
  );
  for (const name of new Set(names)) if (!CHOSEN.has(name)) symlinkSync('.fake', join(programs, name));
  const env = { PATH: `${programs}${delimiter}${process.env['PATH']}` };
  const product = await startProduct({ place, env });
  try {
    const { data: path } = await product.execute('echo "$PATH"');
    expect(path.stdout).toContain(programs);
    expect((await product.execute('echo one | cat', { execution_mode: 'background' })).isError).toBe(false);
    await product.execute('true', { execution_mode: 'detached' });
    const { data: terminal } = await product.call('terminal_create', {});
    await product.call('terminal_close', { terminal_id: terminal.terminal_id });
    await product.call('process_list', {});
    await product.close();
    expect(existsSync(log) ? readFileSync(log, 'utf8') : '').toBe('');
  } finally {
    await product.close();
    place.remove();
  }
});
