/** The operator's page in a browser: what a person sees of what agents run, and does about it. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { needs } from '../setup/needs.ts';
import { auditLines } from '../support/stored.ts';
import { launchBrowser, type ServedPage, servePage } from './support/page.ts';
import { type Called, createPlace, type Place, type Product, startProduct } from './support/product.ts';

/** Names of files below it that hold this text. */
function filesWith(directory: string, text: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text));
}

describe.skipIf(needs('chromium'))('the page', () => {
  let browser: Browser;
  let place: Place;
  let product: Product;
  let served: ServedPage;
  beforeAll(async () => {
    place = createPlace();
    [browser, product] = await Promise.all([
      launchBrowser(),
      startProduct({
        place,
        // A client that cannot ask anybody.
        kind: 'v2 legacy',
        env: {
          MCP_SHELL_SECURITY_SANDBOX: 'off',
          MCP_SHELL_SECURITY_ASK_COMMANDS: 'touch asked',
          MCP_SHELL_SECURITY_ASKPASS: 'true',
        },
      }),
    ]);
    served = servePage(place, browser);
  });
  afterEach(() => {
    if (served.errors.length > 0) throw new Error(`The page logged ${served.errors.splice(0).join(', ')}`);
  });
  afterAll(async () => {
    await served?.close();
    await browser?.close();
    await product?.close();
    place.remove();
  });

  const start = async (command: string): Promise<string> =>
    (await product.execute(command, { execution_mode: 'background' })).data.execution_id;
  const group = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
  const audited = (event: string): Record<string, unknown>[] => auditLines(place.stateDir, event);

  test('a command is watched live and ended, with the keyboard alone', async () => {
    const first = join(place.work, 'go on');
    const id = await start(
      `echo first line; until [ -e '${first}' ]; do sleep 0.1; done; echo second line; sleep 300`,
    );
    const page = await served.open();
    await group(page, 'Running').getByText('echo first line').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    const output = page.getByRole('region', { name: 'Output' });
    await output.getByText('first line', { exact: true }).waitFor();
    await product.execute(`touch '${first}'`);
    await output.getByText('second line', { exact: true }).waitFor();
    await page.keyboard.press('x');
    await page.getByRole('dialog').getByText('echo first line').waitFor();
    await page.keyboard.press('Enter');
    await group(page, 'Done').getByText('echo first line').waitFor();
    const { session } = audited('page_action').find(({ action }) => action === 'open') ?? {};
    expect(audited('page_action')).toContainEqual(
      expect.objectContaining({ action: 'end', principal: 'operator', session, executionId: id }),
    );
    expect(audited('execution_ended')).toContainEqual(
      expect.objectContaining({ executionId: id, reason: 'terminated' }),
    );
  });

  test('output of a call that is not answered yet is shown', async () => {
    const last = join(place.work, 'end');
    const answer = product.execute(`echo so far; until [ -e '${last}' ]; do sleep 0.1; done`);
    const page = await served.open();
    await group(page, 'Running').getByText('echo so far').click();
    await page.getByRole('region', { name: 'Output' }).getByText('so far', { exact: true }).waitFor();
    await product.execute(`touch '${last}'`);
    expect((await answer).data.stdout).toBe('so far\n');
    await group(page, 'Done').getByText('echo so far').waitFor();
  });

  test.each(['stdout', 'stderr'])('%s is downloaded as it was written, byte by byte', async (stream) => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7) % 256));
    writeFileSync(join(place.work, 'bytes'), bytes);
    const { data } = await product.execute(`cat bytes ${stream === 'stderr' ? '>&2' : ''}`);
    const page = await served.open();
    await group(page, 'Done').waitFor();
    await page.evaluate((hash) => location.assign(hash), `#/x/${data.execution_id}`);
    await page.getByRole('button', { name: stream, exact: true }).click();
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe(`${data.execution_id}.${stream}.txt`);
    expect(readFileSync(await download.path()).equals(bytes)).toBe(true);
  });

  test('hostile output is shown as text', async () => {
    await product.execute(
      String.raw`printf '%b\n' '<img src=x onerror="document.title=1">' '\033]0;owned\007title' '\u202etxet' '\033[31mred\033[0m'; true '<script>alert(1)</script>'`,
    );
    const page = await served.open();
    await group(page, 'Done').getByText('<script>alert(1)</script>').click();
    const output = page.getByRole('region', { name: 'Output' });
    await output.getByText('<img src=x onerror="document.title=1">').waitFor();
    await output.getByText('\\u{202e}txet').waitFor();
    expect(await output.getByText('red', { exact: true }).getAttribute('class')).toBe('f1');
    expect(await page.title()).toBe('mcp-shell-server');
    expect(await page.locator('#page img, #page script').count()).toBe(0);
  });

  test('a person takes over a terminal, types a password that is nowhere else, and gives it back', async () => {
    const { data } = await product.call('terminal_create', { session_name: 'shared' });
    const id = data.terminal_id as string;
    const type = (input: string, timeout_seconds: number) =>
      product.call('terminal_send_input', { terminal_id: id, input, execute: true, timeout_seconds });
    const asked = await type('read -s -p "Pass""word: " secret; echo "got ${#secret}"', 30);
    expect(asked.data.output).toContain('Password:');
    const page = await served.open();
    await group(page, 'Needs you').getByText('shared').click();
    await page.getByRole('region', { name: 'Terminal' }).getByText('Password:').waitFor();
    await page.getByRole('button', { name: 'Take over' }).click();
    await page.getByText('You type.').waitFor();
    const refused = await type('agent', 1);
    expect(refused.text).toContain('the operator has taken over this terminal');
    await page.keyboard.type('correct-horse-battery\n');
    await page.getByRole('region', { name: 'Terminal' }).getByText('got 21').waitFor();
    const waiting = type('echo "from the agent"', 60);
    await page.getByRole('button', { name: 'Give back' }).click();
    // There are commands to ask about: what the person has left on the line is not known.
    const unsent = await waiting;
    expect(unsent.text).toContain('Send keys ["ctrl+c"]');
    await product.call('terminal_send_input', { terminal_id: id, keys: ['ctrl+c'], timeout_seconds: 30 });
    const answer = await type('echo "from the agent"', 60);
    expect(answer.data.output).toContain('from the agent');
    const { text } = await product.call('terminal_get_output', { terminal_id: id });
    expect(`${text}${unsent.text}${answer.text}${refused.text}`).not.toContain('correct-horse');
    await product.call('terminal_close', { terminal_id: id, save_history: true });
    expect(filesWith(place.stateDir, 'correct-horse')).toEqual([]);
    expect(audited('page_action').filter(({ terminalId }) => terminalId === id)).toMatchObject([
      { action: 'take_over' },
      { action: 'give_back' },
    ]);
  });

  /** The execution of a terminal that ran these commands, and has ended. */
  async function recordTerminal(...commands: string[]): Promise<string> {
    const { data } = await product.call('terminal_create', { dimensions: { width: 80, height: 24 } });
    const id = data.terminal_id as string;
    for (const input of commands)
      await product.call('terminal_send_input', {
        terminal_id: id,
        input,
        execute: true,
        timeout_seconds: 60,
      });
    await product.call('terminal_close', { terminal_id: id, save_history: true });
    return id.replace('term', 'exec');
  }

  async function openRecording(id: string): Promise<Page> {
    const page = await served.open();
    await group(page, 'Done').waitFor();
    await page.evaluate((hash) => location.assign(hash), `#/x/${id}`);
    await page.getByRole('button', { name: 'recording' }).click();
    await page.getByRole('button', { name: 'Play' }).waitFor();
    return page;
  }

  /** To close a terminal is no failure. */
  const closedIn = (page: Page) =>
    page
      .getByRole('region', { name: 'Execution', exact: true })
      .locator('.state', { hasText: /^closed$/ })
      .count();

  test('a terminal is closed even if its shell had to be killed for that', async () => {
    const page = await openRecording(await recordTerminal("trap '' HUP"));
    await expect.poll(() => closedIn(page)).toBe(1);
  });

  test('the recording of a terminal is played, and searched on its time line', async () => {
    const id = await recordTerminal('echo first-"act"', 'echo second-"act"');
    const page = await openRecording(id);
    await expect.poll(() => closedIn(page)).toBe(1);
    const screen = page.getByRole('region', { name: 'Recording' });
    const timeLine = page.getByRole('slider', { name: 'Time line' });
    await page.getByRole('button', { name: 'Play' }).click();
    await screen.getByText('second-act', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Play' }).waitFor();
    expect(await timeLine.getAttribute('aria-valuetext')).toMatch(/^(.+) of \1$/);
    await timeLine.press('Home');
    await screen.getByText('second-act', { exact: true }).waitFor({ state: 'detached' });
    await timeLine.press('End');
    await screen.getByText('first-act', { exact: true }).waitFor();
    await screen.getByText('second-act', { exact: true }).waitFor();
  });

  test('a hostile recording is played to its end', async () => {
    const id = await recordTerminal();
    const most = 2 ** 31 - 1;
    const sequences = '@ABCDEFGHIJKLMPSTXZbdm'
      .split('')
      .map((final) => `x\u001b[${most}${final}`)
      .join('');
    const outputs = [
      sequences.repeat(20),
      `\u001b]0;${'t'.repeat(1_000_000)}\u0007`,
      '\u001b]8;;javascript:alert(1)\u0007link\u001b]8;;\u0007',
      '\u001b[24L'.repeat(10_000),
      '\u001bc\u001b[H\u001b[2Jthe end',
    ];
    // An event has no more than a read of the terminal.
    const pieces = outputs.flatMap((text) => text.match(/[^]{1,60000}/g) ?? []);
    const events = [
      [0, 'r', `${most}x${most}`],
      [0.1, 'r', '80x24'],
      ...pieces.map((text, index) => [0.2 + index / 100, 'o', text]),
    ];
    writeFileSync(
      join(place.stateDir, 'executions', id, 'cast'),
      [{ version: 2, width: 80, height: 24 }, ...events].map((line) => `${JSON.stringify(line)}\n`).join(''),
    );
    const page = await openRecording(id);
    await page.getByRole('slider', { name: 'Time line' }).press('End');
    await page.getByRole('region', { name: 'Recording' }).getByText('the end', { exact: true }).waitFor();
    expect(await page.title()).toBe('mcp-shell-server');
  });

  test('an approval is given, remembered, revoked and denied', async () => {
    const command = 'touch asked; echo done';
    /** Until the answer is no longer that it waits, as a model would. */
    const execute = async (): Promise<Called> => {
      for (;;) {
        const answer = await product.execute(command);
        if (!answer.text.includes('has not answered yet')) return answer;
      }
    };
    const page = await served.open();
    await page.getByText(/^\d+ servers?$/).waitFor();
    const first = execute();
    await group(page, 'Questions').getByText(command).click();
    await page
      .getByRole('region', { name: 'Question', exact: true })
      .getByText('ask: touch asked', { exact: true })
      .waitFor();
    await page.getByRole('button', { name: 'Allow for an hour' }).click();
    expect((await first).data.stdout).toBe('done\n');
    expect((await execute()).data.stdout).toBe('done\n');
    await group(page, 'Remembered approvals').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('The next such command asks again.').waitFor();
    const second = execute();
    await group(page, 'Questions').getByText(command).click();
    await page.getByLabel('Reason, which the model reads').fill('not on a Monday');
    await page.getByRole('button', { name: 'Deny' }).click();
    expect((await second).text).toContain('not on a Monday');
    expect(audited('approval_given')[0]).toMatchObject({ by: expect.stringMatching(/, page \d+$/) });
    expect(audited('approval_revoked')).toHaveLength(1);
  });

  test('a password that a program asks for goes to it and nowhere else', async () => {
    const page = await served.open();
    await page.getByText(/^\d+ servers?$/).waitFor();
    const call = product.execute(`pw=$("$SSH_ASKPASS" "<b>words</b>"); echo "\${#pw} $pw"`, {
      execution_mode: 'foreground',
      timeout_seconds: 120,
    });
    await group(page, 'Password questions').getByText('SSH_ASKPASS').click();
    await page.getByLabel('Words of the program').getByText('<b>words</b>', { exact: true }).waitFor();
    await page.getByText('come from the command').waitFor();
    await page.getByLabel('Password for this command').fill('battery staple');
    await page.getByRole('button', { name: 'Give it to the command' }).click();
    await page.getByText('The program has it.').waitFor();
    expect((await call).data.stdout).toBe('14 ***\n');
    expect(filesWith(place.stateDir, 'battery staple')).toEqual([]);
    await group(page, 'Password questions').waitFor({ state: 'detached' });
    expect(audited('secret_given')).toMatchObject([{ by: expect.stringMatching(/, page \d+$/) }]);
    expect(audited('page_action').filter(({ action }) => action === 'give_secret')).toHaveLength(1);
  });

  test('the audit log is searched and verified, and a command explained', async () => {
    await product.execute('echo for the log');
    const page = await served.open();
    await page.getByRole('link', { name: 'Audit', exact: true }).click();
    await page.getByLabel('Search the audit log').fill('for the log');
    const log = page.getByRole('region', { name: 'Audit log' });
    // Until the filter holds there are more.
    const linesOf = (event: string) => () => log.getByText(event).count();
    await expect.poll(linesOf('execution ended')).toBe(1);
    await expect.poll(linesOf('execution allowed')).toBe(1);
    await page.getByRole('button', { name: 'Verify' }).click();
    await log.getByText(/^Whole: \d+/).waitFor();
    await page.getByRole('link', { name: 'Policy', exact: true }).click();
    await page.getByLabel('Command', { exact: true }).fill('rm -rf /');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('SECURITY_001').waitFor();
    await page.getByText('security.ask_commands').waitFor();
  });

  test('a tab needs a link, or a browser that had one', async () => {
    const page = await served.open();
    await page.getByRole('region', { name: 'Executions' }).waitFor();
    const address = new URL('/', page.url()).href;
    const tab = await page.context().newPage();
    await tab.goto(address);
    await tab.getByRole('region', { name: 'Executions' }).waitFor();
    const stranger = await browser.newContext();
    const strange = await stranger.newPage();
    await strange.goto(address);
    await strange.getByText('Press Enter where').waitFor();
    expect(await strange.getByRole('region', { name: 'Executions' }).count()).toBe(0);
    await stranger.close();
  });
});
