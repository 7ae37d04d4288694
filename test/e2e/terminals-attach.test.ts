/** A person looks at what an agent does in a terminal, from another shell of the same machine, and types into it. */
import { execFile, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { needs } from '../setup/needs.ts';
import { CLI, createPlace, type Place, type Product } from './support/product.ts';
import { openProduct } from './support/product-here.ts';
import { LONG_MS, openTerminal, writePrompts } from './support/terminal.ts';

let place: Place;
let product: Product;
beforeEach(async () => {
  place = createPlace();
  writePrompts(place.directory);
  product = await openProduct({ place });
});
afterEach(async () => {
  await product.close();
  place.remove();
});

async function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { env, cwd } = place.command();
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [CLI, ...args], {
      env: { ...env },
      cwd,
    });
    return { code: 0, stdout, stderr };
  } catch (error) {
    return error as { code: number; stdout: string; stderr: string };
  }
}

const audited = (event: string): unknown[] =>
  readdirSync(join(place.stateDir, 'audit'))
    .flatMap((name) =>
      readFileSync(join(place.stateDir, 'audit', name), 'utf8')
        .trimEnd()
        .split('\n'),
    )
    .map((line) => JSON.parse(line) as { event: string })
    .filter((line) => line.event === event);

/** The window of a person, 80 by 20: what it shows, and what they type. */
function openWindow(...args: string[]) {
  const { env, cwd } = place.command();
  const tmux = (...words: string[]): string =>
    execFileSync('tmux', ['-S', join(place.directory, 'tmux'), '-f', '/dev/null', ...words], {
      env: { ...env, TERM: 'xterm-256color' },
      cwd,
      encoding: 'utf8',
    });
  // The shell stays, so that what is left after detaching can be seen.
  const words = [process.execPath, CLI, ...args].map((word) => `'${word}'`).join(' ');
  tmux('new-session', '-d', '-x', '80', '-y', '20', `echo shell; ${words}; echo "left with $?"; cat`);
  return {
    text: () => tmux('capture-pane', '-p').trimEnd(),
    /** With what has scrolled out of it. */
    history: () => tmux('capture-pane', '-p', '-S', '-'),
    type: (...keys: string[]) => void tmux('send-keys', ...keys),
    resize: (columns: number, rows: number) =>
      void tmux('resize-window', '-x', String(columns), '-y', String(rows)),
    close: () => void tmux('kill-server'),
  };
}

describe('terminals', () => {
  test('lists those of all servers, for a person and for a script', async () => {
    expect((await run('terminals')).stdout).toBe('No terminal is open.\n');
    const terminal = await openTerminal(product, { session_name: 'build' });
    await terminal.run('cat');
    const other = await openProduct({ place });
    const second = await openTerminal(other, { session_name: 'other' });
    const listed = JSON.parse((await run('terminals', '--json')).stdout) as unknown;
    expect(listed).toMatchObject([
      { terminal_id: second.id, session_name: 'other', status: 'idle' },
      {
        terminal_id: terminal.id,
        session_name: 'build',
        owner: 'local',
        status: 'active',
        shell_type: 'bash',
        dimensions: { width: 120, height: 30 },
        working_directory: place.work,
        foreground_process: [{ name: 'cat' }],
        viewers: 0,
      },
    ]);
    expect((await run('terminals')).stdout).toMatch(
      new RegExp(
        `^${second.id} {2}other {2}idle {2}bash\\n[^]*^${terminal.id} {2}build {2}active {2}cat$`,
        'm',
      ),
    );
    await other.close();
    expect(JSON.parse((await run('terminals', '--json')).stdout)).toHaveLength(1);
  });
});

describe.skipIf(needs('tmux'))('attach', () => {
  test('shows the terminal as it is and as it goes on, types into it, and leaves it running', async () => {
    const terminal = await openTerminal(product, {
      session_name: 'shared',
      dimensions: { width: 70, height: 15 },
    });
    await terminal.run(String.raw`printf '\033[31mearlier\033[0m\n'`);
    const window = openWindow('attach', terminal.id);
    try {
      await expect.poll(window.text, { timeout: LONG_MS }).toMatch(/\nearlier\n\$$/);
      expect(window.history()).toContain(`Attached to ${terminal.id} (shared). Ctrl-] leaves it`);
      expect(await terminal.info()).toMatchObject({ viewers: 1 });
      await terminal.run('echo from the agent');
      await expect.poll(window.text, { timeout: LONG_MS }).toMatch(/\nfrom the agent\n\$$/);
      window.type('echo from a person; person=here', 'Enter');
      await expect.poll(window.text, { timeout: LONG_MS }).toMatch(/\nfrom a person\n\$$/);
      expect((await terminal.read()).output).toContain('\nfrom a person\n$');
      expect(await terminal.run('echo $person')).toMatchObject({ output: 'here\n' });
      // Ctrl-C goes to the program, not to the window.
      window.type('sleep 300', 'Enter');
      await expect
        .poll(async () => (await terminal.info()).foreground_process, { timeout: LONG_MS })
        .toMatchObject([{ name: 'sleep' }]);
      window.type('C-c');
      await expect.poll(async () => (await terminal.info()).last_exit_code, { timeout: LONG_MS }).toBe(130);
      window.type('C-]');
      await expect
        .poll(window.text, { timeout: LONG_MS })
        .toMatch(new RegExp(`\\nDetached from ${terminal.id}, which goes on\\.\\nleft with 0`));
      await expect.poll(async () => (await terminal.info()).viewers, { timeout: LONG_MS }).toBeUndefined();
      expect(await terminal.run('echo still there')).toMatchObject({ output: 'still there\n' });
      for (const event of ['terminal_attached', 'terminal_typed', 'terminal_detached'])
        expect(audited(event), event).toMatchObject([{ terminalId: terminal.id, principal: 'operator' }]);
    } finally {
      window.close();
    }
  });

  test.skipIf(needs('vim'))('shows a full-screen program, and puts the window in order', async () => {
    const terminal = await openTerminal(product, { dimensions: { width: 70, height: 10 } });
    await terminal.run('vim -u NONE -N -i NONE -n new.txt');
    const window = openWindow('attach', terminal.id.slice(0, 20));
    try {
      await expect.poll(window.text, { timeout: LONG_MS }).toMatch(/^\n(~\n)+"new.txt"/);
      window.type('i', 'written by a person', 'Escape');
      await expect.poll(window.text, { timeout: LONG_MS }).toMatch(/^written by a person\n(~\n)+/);
      expect((await terminal.screen())[0]).toBe('written by a person');
      // When it leaves, what was there before is there again.
      await terminal.run(':q!');
      await expect.poll(window.text, { timeout: LONG_MS }).toMatch(/^\$ vim .*\n\$$/);
      await terminal.run('vim -u NONE -N -i NONE -n new.txt');
      await expect.poll(window.text, { timeout: LONG_MS }).toMatch(/^\n(~\n)+"new.txt"/);
      window.type('C-]');
      await expect.poll(window.text, { timeout: LONG_MS }).toMatch(/\nDetached.*\nleft with 0/);
    } finally {
      window.close();
    }
  });

  test('says that the window is too small, resizes on request, and shows nothing in parts', async () => {
    const terminal = await openTerminal(product, { session_name: 'large' });
    await terminal.run('printf %0119d 7; echo');
    const window = openWindow('attach', 'large');
    const small = (size: string): RegExp => new RegExp(`^The terminal is ${size},\\nand this window`);
    try {
      await expect.poll(window.text, { timeout: LONG_MS }).toMatch(small('120x30'));
      expect(window.text()).toMatch(/80x20: it does not fit\.[^]*Ctrl-\] {2}leave it as it is/);
      // Nothing that is typed here reaches a program that cannot be seen, and no output garbles the window.
      window.type('x');
      expect(await terminal.run('echo unseen')).toMatchObject({ output: 'unseen\n' });
      expect(window.text()).toMatch(small('120x30'));
      window.type('r');
      await expect.poll(window.text, { timeout: LONG_MS }).toMatch(/\nunseen\n\$$/);
      expect(await terminal.info()).toMatchObject({ dimensions: { width: 80, height: 20 } });
      expect(await terminal.run('stty size')).toMatchObject({ output: '20 80\n' });
      // The agent makes it larger again, and then smaller.
      await product.call('terminal_resize', {
        terminal_id: terminal.id,
        dimensions: { width: 90, height: 20 },
      });
      await expect.poll(window.text, { timeout: LONG_MS }).toMatch(small('90x20'));
      await product.call('terminal_resize', {
        terminal_id: terminal.id,
        dimensions: { width: 60, height: 10 },
      });
      await expect.poll(window.text, { timeout: LONG_MS }).toMatch(/\n20 80\n\$$/);
      // The window changes.
      window.resize(50, 5);
      await expect.poll(window.text, { timeout: LONG_MS }).toMatch(small('60x10'));
      window.resize(80, 20);
      await expect.poll(window.text, { timeout: LONG_MS }).toMatch(/\n20 80\n\$$/);
      window.type('C-]');
      await expect.poll(window.text, { timeout: LONG_MS }).toMatch(/\nDetached from .*\nleft with 0/);
      expect(audited('terminal_resized')).toMatchObject([{ terminalId: terminal.id, principal: 'operator' }]);
    } finally {
      window.close();
    }
  });

  test('ends with the terminal', async () => {
    const terminal = await openTerminal(product, {
      session_name: 'short',
      dimensions: { width: 70, height: 15 },
    });
    const window = openWindow('attach', 'short');
    try {
      await expect.poll(window.text, { timeout: LONG_MS }).toMatch(/^\$$/m);
      await terminal.close();
      await expect
        .poll(window.text, { timeout: LONG_MS })
        .toMatch(new RegExp(`\\n${terminal.id} has ended\\.[^]*left with 0`));
    } finally {
      window.close();
    }
  });

  test('of what is not there, or without a terminal, is refused', async () => {
    const window = openWindow('attach', 'term_nothing');
    try {
      await expect
        .poll(window.text, { timeout: LONG_MS })
        .toMatch(/There is no open terminal term_nothing[^]*left with 1/);
    } finally {
      window.close();
    }
    const terminal = await openTerminal(product);
    expect(await run('attach', terminal.id)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('requires a terminal'),
    });
  });
});
