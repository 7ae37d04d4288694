/** Programs that draw, and programs that ask: each shows the screen that a person would see. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needs } from '../setup/needs.ts';
import type { Product } from './support/product.ts';
import { openProduct } from './support/product-here.ts';
import { LONG, openTerminal, writePrompts } from './support/terminal.ts';

let product: Product;
beforeAll(async () => {
  product = await openProduct();
  writePrompts(product.directory);
});
afterAll(() => product.close());

const SIZE = { width: 60, height: 10 };

function write(name: string, text: string): void {
  writeFileSync(join(product.work, name), text);
  chmodSync(join(product.work, name), 0o755);
}

const numbered = (count: number): string =>
  Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('');

describe('programs that draw', () => {
  test.skipIf(needs('vim'))('vim', async () => {
    write('poem.txt', 'one\ntwo\nthree\nfour\n');
    const terminal = await openTerminal(product, { dimensions: SIZE });
    const started = await terminal.run('vim -u NONE -N -i NONE -n poem.txt');
    expect(started).toMatchObject({ wait_reason: 'awaiting_input', full_screen: true });
    const tildes = Array.from({ length: 5 }, () => '~');
    await terminal.shows(['one', 'two', 'three', 'four', ...tildes, expect.stringMatching(/^"poem.txt" 4L/)]);
    await terminal.run(':set nu');
    const ruled = ['  1 one', '  2 two', '  3 three', '  4 four', ...tildes, ':set nu'];
    await terminal.shows(ruled);
    await terminal.send({ input: '3Gdd', ...LONG });
    await terminal.shows(['  1 one', '  2 two', '  3 four', '~', ...tildes, ':set nu']);
    expect(await terminal.read({ view: 'screen' })).toMatchObject({
      cursor: { row: 2, column: 4, visible: true },
      full_screen: true,
    });
    const left = await terminal.run(':wq');
    expect(left).toMatchObject({ wait_reason: 'command_done', exit_code: 0, full_screen: false });
    await terminal.shows(['$ vim -u NONE -N -i NONE -n poem.txt', '$']);
    expect(await terminal.run('cat poem.txt')).toMatchObject({ exit_code: 0, output: 'one\ntwo\nfour\n' });
    await terminal.close();
  });

  test.skipIf(needs('less'))('less, in which the arrow keys have their other form', async () => {
    write('lines.txt', numbered(40));
    const terminal = await openTerminal(product, { dimensions: SIZE });
    const started = await terminal.run('less lines.txt');
    expect(started).toMatchObject({ wait_reason: 'awaiting_input', full_screen: true });
    const from = (first: number): string[] =>
      Array.from({ length: 9 }, (_, index) => `line ${first + index}`);
    await terminal.shows([...from(1), 'lines.txt']);
    await terminal.press('down', 'down');
    await terminal.shows([...from(3), ':']);
    await terminal.run('/line 20');
    await terminal.shows([...from(20), ':']);
    await terminal.press('up');
    await terminal.shows([...from(19), ':']);
    await terminal.press('G');
    await terminal.shows([...from(32), '(END)']);
    expect(await terminal.press('q')).toMatchObject({ wait_reason: 'command_done', exit_code: 0 });
    await terminal.shows(['$ less lines.txt', '$']);
    await terminal.close();
  });

  test.skipIf(needs('htop'))('htop', async () => {
    const terminal = await openTerminal(product, { dimensions: { width: 100, height: 24 } });
    await terminal.run('htop -d 50');
    await terminal.showsText(/PID\s+USER\s+PRI/);
    const rows = await terminal.screen();
    expect(rows.at(-1)).toMatch(/^F1Help {2}F2Setup {1,2}F3Search ?F4Filter ?F5/);
    expect(rows.find((row) => row.includes('Mem['))).toBeDefined();
    expect(rows.some((row) => /\d+ .*\bbash\b/.test(row))).toBe(true);
    expect(await terminal.read({ view: 'screen', include_foreground_process: true })).toMatchObject({
      full_screen: true,
      foreground_process: [{ name: 'htop' }],
    });
    await terminal.press('f1');
    await terminal.showsText(/htop [\d.]+ - \(C\)/);
    await terminal.press('esc');
    await terminal.showsText(/F1Help/);
    expect(await terminal.press('f10')).toMatchObject({ wait_reason: 'command_done', exit_code: 0 });
    await terminal.close();
  });

  test.skipIf(needs('ps'))('top, which draws without a screen of its own', async () => {
    const terminal = await openTerminal(product, { dimensions: { width: 100, height: 24 } });
    const started = await terminal.run('top -d 60');
    expect(started).toMatchObject({ wait_reason: 'awaiting_input' });
    await terminal.showsText(/^top - /);
    const rows = await terminal.screen();
    expect(rows[1]).toMatch(/^Tasks: +\d+ total/);
    expect(rows.find((row) => /PID USER/.test(row))).toMatch(/COMMAND$/);
    expect(rows.some((row) => /\btop$/.test(row))).toBe(true);
    expect(await terminal.press('q')).toMatchObject({ wait_reason: 'command_done', exit_code: 0 });
    await terminal.close();
  });

  test.skipIf(needs('tmux'))('tmux, in two panes', async () => {
    const terminal = await openTerminal(product, { dimensions: SIZE });
    write(
      'tmux.conf',
      "set -g status-left 'S '\nset -g status-right ''\nset -g default-command 'sh pane.sh'\n",
    );
    write('pane.sh', "PS1='% '; export PS1; exec sh\n");
    await terminal.run('tmux -S tmux.sock -f tmux.conf new -n main');
    const status = expect.stringMatching(/^S 0:main/);
    const blank = (count: number): string[] => Array.from({ length: count }, () => '');
    await terminal.shows(['%', ...blank(8), status]);
    await terminal.run('echo left');
    await terminal.shows(['% echo left', 'left', '%', ...blank(6), status]);
    await terminal.send({ input: '^b%', control_codes: true, ...LONG });
    const row = (left: string, right: string): string => `${left.padEnd(30)}│${right}`;
    const empty = Array.from({ length: 6 }, () => row('', ''));
    await terminal.shows([row('% echo left', '%'), row('left', ''), row('%', ''), ...empty, status]);
    await terminal.run('echo right');
    await terminal.shows([
      row('% echo left', '% echo right'),
      row('left', 'right'),
      row('%', '%'),
      ...empty,
      status,
    ]);
    await terminal.run('exit');
    await terminal.shows(['% echo left', 'left', '%', ...blank(6), status]);
    expect(await terminal.run('exit')).toMatchObject({ wait_reason: 'command_done', exit_code: 0 });
    await terminal.close();
  });

  test.skipIf(needs('fzf'))('fzf, which filters as one types', async () => {
    write('fruit.txt', 'apple\nbanana\ncherry\napricot\n');
    const terminal = await openTerminal(product, { dimensions: SIZE });
    await terminal.run('fzf --no-color < fruit.txt > chosen.txt');
    const blank = (count: number): string[] => Array.from({ length: count }, () => '');
    const found = (counts: string): unknown => expect.stringMatching(new RegExp(`^ {2}${counts}\\b`));
    await terminal.shows([...blank(4), '  apricot', '  cherry', '  banana', '> apple', found('4/4'), '>']);
    await terminal.send({ input: 'ap', ...LONG });
    await terminal.shows([...blank(6), '  apricot', '> apple', found('2/4'), '> ap']);
    await terminal.press('up');
    await terminal.shows([...blank(6), '> apricot', '  apple', found('2/4'), '> ap']);
    expect(await terminal.press('enter')).toMatchObject({ wait_reason: 'command_done', exit_code: 0 });
    expect(await terminal.run('cat chosen.txt')).toMatchObject({ output: 'apricot\n' });
    await terminal.close();
  });

  test.skipIf(needs('python3'))('a Python prompt', async () => {
    const terminal = await openTerminal(product, {
      dimensions: SIZE,
      environment_variables: { PYTHON_BASIC_REPL: '1' },
    });
    const started = await terminal.run('python3 -q');
    expect(started).toMatchObject({ wait_reason: 'awaiting_input', output: '>>>', full_screen: false });
    expect(await terminal.run('6 * 7')).toMatchObject({ wait_reason: 'awaiting_input', output: '42\n>>>' });
    expect(await terminal.run("print('日本 😀')")).toMatchObject({ output: '日本 😀\n>>>' });
    await terminal.run('for n in range(2):\n    print(n)\n');
    await terminal.run('1/0');
    await terminal.shows([
      '>>> for n in range(2):',
      '...     print(n)',
      '...',
      '0',
      '1',
      '>>> 1/0',
      'Traceback (most recent call last):',
      '  File "<stdin>", line 1, in <module>',
      'ZeroDivisionError: division by zero',
      '>>>',
    ]);
    expect(await terminal.press('ctrl+d')).toMatchObject({ wait_reason: 'command_done', exit_code: 0 });
    await terminal.close();
  });
});

describe('programs that ask', () => {
  test('read -s', async () => {
    const terminal = await openTerminal(product, { dimensions: SIZE });
    expect(await terminal.run('read -s -p "Secret: " secret')).toMatchObject({
      wait_reason: 'awaiting_input',
      secret_prompt: true,
      output: 'Secret:',
    });
    expect(await terminal.run('hunter2')).toMatchObject({ wait_reason: 'command_done', exit_code: 0 });
    expect(await terminal.run('echo "${#secret}"')).toMatchObject({ output: '7\n' });
    await terminal.shows(['$ read -s -p "Secret: " secret', 'Secret: $ echo "${#secret}"', '7', '$']);
    await terminal.close();
  });

  test.skipIf(needs('python3'))('a program like sudo, which asks until it is right', async () => {
    write(
      'sudo.py',
      [
        'import getpass',
        'for _ in range(3):',
        '    if getpass.getpass("[sudo] password for user: ") == "right": break',
        '    print("Sorry, try again.")',
        'else: raise SystemExit("sudo: 3 incorrect password attempts")',
        'print("uid=0(root)")',
      ].join('\n'),
    );
    const terminal = await openTerminal(product, { dimensions: SIZE });
    const asks = { wait_reason: 'awaiting_input', secret_prompt: true };
    expect(await terminal.run('python3 sudo.py')).toMatchObject({
      ...asks,
      output: '[sudo] password for user:',
    });
    expect(await terminal.run('wrong')).toMatchObject({
      ...asks,
      output: 'Sorry, try again.\n[sudo] password for user:',
    });
    const done = await terminal.run('right');
    expect(done).toMatchObject({ wait_reason: 'command_done', exit_code: 0, output: 'uid=0(root)' });
    expect(done).not.toHaveProperty('secret_prompt');
    await terminal.shows([
      '$ python3 sudo.py',
      '[sudo] password for user:',
      'Sorry, try again.',
      '[sudo] password for user:',
      'uid=0(root)',
      '$',
    ]);
    await terminal.close();
  });

  test('a program like ssh, which asks whether to go on, then for a password', async () => {
    write(
      'ssh.sh',
      [
        '#!/bin/sh',
        'exec < /dev/tty',
        `echo "The authenticity of host 'example (192.0.2.7)' can't be established."`,
        'printf "Are you sure you want to continue connecting (yes/no)? "; read answer',
        '[ "$answer" = yes ] || { echo "Host key verification failed."; exit 255; }',
        `stty -echo; printf "user@example's password: "; read password; stty echo; echo`,
        '[ "$password" = right ] || { echo "Permission denied."; exit 255; }',
        'printf "example:~$ "; while read line; do [ "$line" = exit ] && exit 3; echo "ran $line"; printf "example:~$ "; done',
      ].join('\n'),
    );
    const terminal = await openTerminal(product, { dimensions: { width: 80, height: 10 } });
    const first = await terminal.run('./ssh.sh');
    expect(first).toMatchObject({
      wait_reason: 'awaiting_input',
      output: [
        "The authenticity of host 'example (192.0.2.7)' can't be established.",
        'Are you sure you want to continue connecting (yes/no)?',
      ].join('\n'),
    });
    expect(first).not.toHaveProperty('secret_prompt');
    expect(await terminal.run('yes')).toMatchObject({
      wait_reason: 'awaiting_input',
      secret_prompt: true,
      output: "user@example's password:",
    });
    expect(await terminal.run('right')).toMatchObject({
      wait_reason: 'awaiting_input',
      output: 'example:~$',
    });
    await terminal.run('uptime');
    await terminal.shows([
      '$ ./ssh.sh',
      "The authenticity of host 'example (192.0.2.7)' can't be established.",
      'Are you sure you want to continue connecting (yes/no)? yes',
      "user@example's password:",
      'example:~$ uptime',
      'ran uptime',
      'example:~$',
    ]);
    expect(await terminal.run('exit')).toMatchObject({ wait_reason: 'command_done', exit_code: 3 });
    await terminal.close();
  });
});
