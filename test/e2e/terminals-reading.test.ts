/** What is read of a terminal: its screen, its lines from the first on, and what is new. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needs } from '../setup/needs.ts';
import type { Product } from './support/product.ts';
import { openProduct } from './support/product-here.ts';
import { openTerminal, writePrompts } from './support/terminal.ts';

let product: Product;
beforeAll(async () => {
  product = await openProduct();
  writePrompts(product.directory);
});
afterAll(() => product.close());

const ESC = '\u001B';

const numbers = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}`).join('\n');

describe('lines', () => {
  test('are counted from the first one, and come from the log when they have left memory', async () => {
    const terminal = await openTerminal(product, { dimensions: { width: 40, height: 10 } });
    await terminal.run('seq 1 5000');
    // The command is line 0, the prompt after it the last.
    expect(await terminal.read({ line_count: 4 })).toMatchObject({
      output: '4998\n4999\n5000\n$',
      start_line: 4998,
      line_count: 3,
      total_lines: 5002,
      next_start_line: 5001,
      has_more: false,
    });
    expect(await terminal.read({ start_line: 10, line_count: 3 })).toMatchObject({
      total_lines: 5002,
      has_more: true,
      output: '10\n11\n12',
      start_line: 10,
      line_count: 3,
      next_start_line: 13,
    });
    expect(await terminal.read({ start_line: 0, line_count: 2 })).toMatchObject({
      output: '$ seq 1 5000\n1',
    });
    // Where the log ends and memory begins, no line is missing or twice.
    const whole = await terminal.read({ start_line: 1, line_count: 5000 });
    expect(whole).toMatchObject({ line_count: 5000, output: numbers(1, 5000) });
    expect(whole).not.toHaveProperty('missing_lines');
    expect(await terminal.read({ start_line: 9000 })).toMatchObject({ output: '', has_more: false });
    await terminal.close();
  });

  test('are read page by page, each once', async () => {
    const terminal = await openTerminal(product, { dimensions: { width: 20, height: 5 } });
    await terminal.run('seq 1 3500');
    const pages: string[] = [];
    for (let next = 0, hasMore = true; hasMore; ) {
      const page = await terminal.read({ start_line: next, line_count: 900 });
      pages.push(page.output);
      next = page.next_start_line;
      hasMore = page.has_more;
    }
    expect(pages.join('\n')).toBe(`$ seq 1 3500\n${numbers(1, 3500)}\n$`);
    await terminal.close();
  });

  test.for([
    ['a whole line', 'echo one', 'one', ['one'], ['two', 'three']],
    ['an unfinished line', 'printf one', 'one', [], ['onetwo', 'three']],
    ['empty lines', String.raw`printf 'one\n\n\n'`, 'one\n\n', ['one', '', ''], ['two', 'three']],
    ['a line above others', String.raw`printf 'one\nx\ny\033[A\r'`, 'one\nx\ny', ['one'], ['two', 'three']],
  ] as const)(
    'are all given where a program stops after %s and goes on',
    async ([, begin, shown, settled, later]) => {
      const terminal = await openTerminal(product);
      await terminal.send({ input: `clear; ${begin}; read -rs; echo two; echo three`, execute: true });
      await terminal.shows(shown.split('\n').slice(0, shown.trimEnd().split('\n').length));
      // After what was typed, which is not on the screen any more.
      const first = await terminal.read({ start_line: 1 });
      expect(first).toMatchObject({
        output: shown,
        start_line: 1,
        line_count: settled.length,
        next_start_line: 1 + settled.length,
        has_more: false,
      });
      await terminal.send({ keys: ['enter'] });
      await terminal.showsText(/three\n\$$/);
      const next = 1 + settled.length;
      const end = next + later.length;
      expect(await terminal.read({ start_line: next })).toMatchObject({
        output: [...later, '$'].join('\n'),
        start_line: next,
        line_count: later.length,
        next_start_line: end,
        total_lines: end + 1,
        has_more: false,
      });
      // The prompt is given again, whether a page begins at it, ends before it or lies behind it.
      for (const [start_line, line_count, output, from, hasMore] of [
        [end, 5, '$', end, false],
        [end - 1, 1, 'three', end - 1, true],
        [9000, 5, '', end, false],
      ] as const)
        expect(await terminal.read({ start_line, line_count })).toMatchObject({
          output,
          start_line: from,
          line_count: end - from,
          next_start_line: end,
          has_more: hasMore,
        });
      await terminal.close();
    },
  );

  test('are read page by page, each once, while more are written', async () => {
    const terminal = await openTerminal(product, { dimensions: { width: 20, height: 5 } });
    await terminal.run('seq 1 30000');
    await terminal.send({
      execute: true,
      input: 'for n in $(seq 1 5000); do echo w$n; ((n % 50)) || sleep 0.02; done; echo over',
    });
    const lines: string[] = [];
    for (let next = 0; !lines.includes('over'); ) {
      const page = await terminal.read({ start_line: next, line_count: 10_000 });
      // The last one may still grow, and is not counted then.
      if (page.line_count > 0) lines.push(...page.output.split('\n').slice(0, page.line_count));
      next = page.next_start_line;
    }
    const written = lines.filter((line) => /^w\d+$/.test(line));
    expect(written).toEqual(Array.from({ length: 5000 }, (_, index) => `w${index + 1}`));
    expect(lines.filter((line) => /^\d+$/.test(line))).toHaveLength(30_000);
    await terminal.close();
  });

  test('too many for one answer come in pages without holes', async () => {
    const terminal = await openTerminal(product);
    // Some of them empty, also where a page ends.
    await terminal.run(`seq 1 30000 | awk '{ print $1 % 7 ? $1 : "" }'`);
    const pages: string[] = [];
    let counted = 0;
    for (let next = 1, hasMore = true; hasMore; ) {
      const page = await terminal.read({ start_line: next, line_count: 10_000 });
      expect(page).toMatchObject({ start_line: next, total_lines: 30_002 });
      expect(page).not.toHaveProperty('output_truncated');
      const lines = (page.output as string).split('\n');
      // The prompt may still change, and does not count.
      expect(page.line_count).toBe(lines.length - (page.has_more ? 0 : 1));
      pages.push(...lines);
      counted += page.line_count;
      next = page.next_start_line;
      hasMore = page.has_more;
    }
    const all = Array.from({ length: 30_000 }, (_, index) => ((index + 1) % 7 === 0 ? '' : `${index + 1}`));
    expect(pages.length).toBe(counted + 1);
    expect(pages).toEqual([...all, '$']);
    // The last lines are without holes too.
    const end = await terminal.read({ line_count: 10_000 });
    expect(end.output).toBe([...all, '$'].slice(end.start_line - 1).join('\n'));
    expect(end).toMatchObject({ line_count: 30_001 - end.start_line, has_more: false });
    await terminal.close();
  });

  test('that are longer than an answer are cut, and said to be', async () => {
    const terminal = await openTerminal(product);
    await terminal.run(`printf 'x%.0s' $(seq 1 50000); echo; echo end`);
    const page = await terminal.read({ start_line: 1 });
    const isCut = { output_truncated: true };
    expect(page).toMatchObject({ ...isCut, line_count: 1, next_start_line: 2, has_more: true });
    expect(page.output).toMatch(/^x+\[… the rest of a long line is left out\]$/);
    expect(await terminal.read({ start_line: 2, line_count: 1 })).toMatchObject({ output: 'end' });
    await terminal.close();
  });

  test('that were too long for the screen are one, before and after it is resized', async () => {
    const terminal = await openTerminal(product, { dimensions: { width: 20, height: 10 } });
    const long = '0123456789'.repeat(7);
    await terminal.run(`echo; echo ${long}; echo end`);
    const lines = `$ echo; echo ${long}; echo end\n\n${long}\nend\n$`;
    expect((await terminal.read()).output).toBe(lines);
    for (const width of [33, 100, 11]) {
      await product.call('terminal_resize', {
        terminal_id: terminal.id,
        dimensions: { width, height: 10 },
      });
      await expect
        .poll(async () => (await terminal.read({ start_line: 2, line_count: 2 })).output, { timeout: 60_000 })
        .toBe(`${long}\nend`);
    }
    await terminal.close();
  });

  test('keep their numbers when the screen is cleared', async () => {
    const terminal = await openTerminal(product, { dimensions: { width: 40, height: 5 } });
    await terminal.run('seq 1 20');
    await terminal.run(String.raw`printf '\033[H\033[2J\033[3J'`);
    await terminal.run('echo after');
    expect(await terminal.read({ start_line: 3, line_count: 3 })).toMatchObject({ output: '3\n4\n5' });
    await terminal.shows(['$ echo after', 'after', '$']);
    await terminal.close();
  });

  test('have their colours if asked for', async () => {
    const terminal = await openTerminal(product);
    await terminal.run(String.raw`printf 'x\033[1;31mred\033[0my\n'`);
    const { output } = await terminal.read({ include_ansi: true });
    const line = (output as string).split('\n').find((each) => each.startsWith('x'));
    expect(line?.replaceAll(ESC, '^')).toMatch(/^x\^\[(1;31|31;1)mred\^\[0?my$/);
    expect((await terminal.read()).output).toContain('\nxredy\n');
    const screen = await terminal.read({ view: 'screen', include_ansi: true });
    expect(screen.output.replaceAll(ESC, '^')).toMatch(/\^\[(1;31|31;1)mred/);
    await terminal.close();
  });

  test('are what a person sees, not what was written', async () => {
    const terminal = await openTerminal(product);
    await terminal.run(String.raw`printf '10%%\r50%%\r100%%\nab\bc\n\tx\n'`);
    expect((await terminal.read({ start_line: 1 })).output).toBe('100%\nac\n        x\n$');
    await terminal.close();
  });
});

describe('long output of a command', () => {
  const inParts = (output: string) => {
    const marker =
      /^\[… (\d+) lines left out: terminal_get_output with start_line (\d+) and line_count (\d+)\]$/m;
    const [, count, start, lines] = (marker.exec(output) ?? []).map(Number);
    const [head = '', tail = ''] = output.split(/\n?\[…[^\n]*\]\n/);
    return { head, tail, count, start, lines };
  };

  test.for([
    ['bash', 'seq 1 5000', 5000],
    ['bash', 'seq 1 60000', 60_000],
    ['bash', 'seq 1 2300', 2300],
    ['sh', 'seq 1 5000', 5000],
    ['bash', 'echo; seq 2 4000', 4000],
    ['python', 'for i in range(1, 5001): print(i)\n', 5000],
  ] as const)(
    'has its first and last lines, and says where the others are: %s, %s',
    async ([shell, command, last]) => {
      const terminal = await openTerminal(product, { shell_type: shell === 'python' ? 'bash' : shell });
      await terminal.run('seq 1 30');
      if (shell === 'python') await terminal.run('python3 -q');
      const answer = await terminal.run(command);
      expect(answer).toMatchObject({ output_truncated: true });
      const { head, tail, count, start, lines } = inParts(answer.output);
      const pages: string[] = [];
      let left = count ?? 0;
      for (let next = start ?? 0; left > 0; ) {
        const page = await terminal.read({ start_line: next, line_count: Math.min(left, lines ?? 0) });
        pages.push(page.output);
        left -= page.line_count;
        next = page.next_start_line;
      }
      const got = [head, ...pages, tail]
        .join('\n')
        .trimEnd()
        .split('\n')
        .filter((line) => /^\d*$/.test(line));
      const from = command.startsWith('echo')
        ? ['', ...numbers(2, last).split('\n')]
        : numbers(1, last).split('\n');
      expect(got.slice(-from.length)).toEqual(from);
      expect(head.split('\n').length).toBeGreaterThan(100);
      expect(tail.split('\n').length).toBeGreaterThan(200);
      await terminal.close();
    },
  );
});

describe('the screen', () => {
  test('has rows, a cursor and a title; wide characters take two columns', async () => {
    const terminal = await openTerminal(product, { dimensions: { width: 40, height: 6 } });
    const drawing = String.raw`printf '\033]2;my title\007\033[?1049h\033[2J\033[2;3H日本😀é|\033[?25l'; read -r x`;
    await terminal.run(drawing, { wait_for: '\\|' });
    expect(await terminal.read({ view: 'screen' })).toMatchObject({
      output: '\n  日本😀é|',
      cursor: { row: 1, column: 10, visible: false },
      title: 'my title',
      full_screen: true,
    });
    await terminal.close();
  });

  test('is the last of many lines', async () => {
    const terminal = await openTerminal(product, { dimensions: { width: 40, height: 6 } });
    await terminal.run('seq 1 100');
    await terminal.showsText(/100\n\$$/);
    expect(await terminal.screen()).toEqual(['96', '97', '98', '99', '100', '$']);
    await terminal.close();
  });
});

describe('what is new', () => {
  test('is what came since it was last read, the rest of a line included', async () => {
    const terminal = await openTerminal(product);
    const fresh = async (args = {}): Promise<string> =>
      (await terminal.read({ view: 'new', ...args })).output;
    await terminal.send({ input: 'echo one', execute: true });
    await terminal.shows(['$ echo one', 'one', '$']);
    expect(await fresh()).toBe('$ echo one\none\n$');
    expect(await fresh()).toBe('');
    // What a call has answered with is no longer new, and neither becomes so what is read again.
    expect(await terminal.run('echo more')).toMatchObject({ output: 'more\n' });
    await terminal.read({ start_line: 0, line_count: 1 });
    expect(await fresh()).toBe('');
    await terminal.send({ input: 'echo two', execute: true });
    expect(await fresh({ wait_for: '^two', timeout_seconds: 40 })).toMatch(/^\$ echo two\ntwo/);
    await terminal.close();
  });

  test('is never lost, however much it is', async () => {
    const terminal = await openTerminal(product);
    await terminal.send({ input: 'seq 1 450', execute: true });
    await terminal.showsText(/450\n\$$/);
    const parts: string[] = [];
    for (let more = true; more; ) {
      const part = await terminal.read({ view: 'new' });
      parts.push(part.output);
      more = part.has_more;
    }
    expect(parts.join('\n')).toBe(`$ seq 1 450\n${numbers(1, 450)}\n$`);
    await terminal.close();
  });
});

/** In bash, zsh and sh alike. */
const WIPING: readonly (readonly [string, string])[] = [
  ['clear; echo one; echo two', 'one\ntwo\n'],
  ["printf '\\033[2J\\033[H'; echo one", 'one\n'],
  ["printf '\\033[H\\033[J'; echo one", 'one\n'],
  ["printf '\\033[H'; echo one", 'one\n'],
  ["printf '\\033c'; echo one", 'one\n'],
  ['reset; echo one', 'one\n'],
  ['echo zero; clear; echo one', 'one\n'],
];

describe('a terminal that is wiped', () => {
  test
    .skipIf(needs('zsh'))
    .for(
      ['bash', 'zsh', 'sh'].flatMap((shell) =>
        WIPING.map(([command, output]) => [shell, command, output] as const),
      ),
    )('loses nothing in %s: %s', async ([shell_type, command, output]) => {
    const terminal = await openTerminal(product, { shell_type, dimensions: { width: 80, height: 24 } });
    await terminal.run('seq 1 60');
    const before = await terminal.read({ start_line: 0, line_count: 1000 });
    expect(await terminal.run(command)).toMatchObject({ output, exit_code: 0, wait_reason: 'command_done' });
    expect(await terminal.read({ view: 'new' })).toMatchObject({ output: '' });
    const [first] = before.output.split('\n');
    const all = await terminal.read({ start_line: 0, line_count: 1000 });
    expect(all).not.toHaveProperty('missing_lines');
    expect(all.output).toContain(`${first}\n${numbers(1, 37)}\n`);
    const later = await terminal.read({ start_line: before.next_start_line, line_count: 1000 });
    // What is only written over is gone, as it is for a person.
    const isOver = command.includes("[H'");
    expect(isOver || all.output.includes(`${numbers(1, 60)}\n`)).toBe(true);
    expect(isOver || /\none\n/.test(later.output)).toBe(true);
    await terminal.close();
  });

  test('shows each time what is new, and what is waited for', async () => {
    const terminal = await openTerminal(product);
    await terminal.run('seq 1 50');
    expect(await terminal.run('clear; echo READY; sleep 30', { wait_for: 'READY' })).toMatchObject({
      matched: true,
      output: expect.stringContaining('READY'),
    });
    await terminal.press('ctrl+c');
    await terminal.send({
      input: String.raw`for i in 1 2 3 4; do printf '\033c'; echo "round $((i*11))"; read -rs; done`,
      execute: true,
    });
    for (const round of [11, 22, 33, 44]) {
      const seen = await terminal.read({ view: 'new', wait_for: `round ${round}`, timeout_seconds: 20 });
      expect(seen).toMatchObject({ matched: true });
      await terminal.send({ keys: ['enter'] });
    }
    await terminal.close();
  });
});
