/** The operator's page under what `npm test` has no time for: large outputs, floods, a server that dies, several people. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { grouped } from '../../src/web/page/format.ts';
import { launchBrowser, type ServedPage, servePage } from '../e2e/support/page.ts';
import { type Called, createPlace, type Place, type Product, startProduct } from '../e2e/support/product.ts';
import { needs } from '../setup/needs.ts';
import { auditLines } from '../support/stored.ts';

const ENV = {
  MCP_SHELL_SECURITY_ASK_COMMANDS: 'touch asked',
  MCP_SHELL_SECURITY_SANDBOX: 'off',
  MCP_SHELL_LIMITS_MAX_OUTPUT_MB: '400',
};

/** In the page: notes the longest time without a frame. */
function watchFrames(): void {
  const noted = globalThis as { longestFrame?: number };
  let last = performance.now();
  const watch = (): void => {
    noted.longestFrame = Math.max(noted.longestFrame ?? 0, performance.now() - last);
    last = performance.now();
    requestAnimationFrame(watch);
  };
  requestAnimationFrame(watch);
}

describe.skipIf(needs('chromium'))('the page', () => {
  let browser: Browser;
  let place: Place;
  let product: Product;
  let served: ServedPage;
  beforeEach(async () => {
    place = createPlace();
    [browser, product] = await Promise.all([launchBrowser(), startProduct({ place, env: ENV })]);
    served = servePage(place, browser);
  });
  afterEach(async () => {
    await served.close();
    await browser.close();
    await product.close();
    place.remove();
  });

  const start = async (command: string): Promise<string> =>
    (await product.execute(command, { execution_mode: 'background' })).data.execution_id;
  /** Processes that have opened a log. */
  const openedBy = (): unknown[] => auditLines(place.stateDir, 'log_opened').map(({ pid }) => pid);
  const group = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
  const output = (page: Page) => page.getByRole('region', { name: 'Output' });
  const scrollTo = (page: Page, part: number): Promise<void> =>
    output(page).evaluate((element, share) => {
      element.scrollTop = element.scrollHeight * share;
    }, part);

  test('100 MiB of output scroll from the first line to the last, and are searched', async () => {
    const lines = 14_000_000;
    await start(`seq 1 ${lines}`);
    const page = await served.open();
    await group(page, 'Done').getByText(`seq 1 ${lines}`).click({ timeout: 300_000 });
    await output(page).getByText('1', { exact: true }).first().waitFor();
    await scrollTo(page, 1);
    await output(page).getByText(String(lines), { exact: true }).first().waitFor();
    await scrollTo(page, 0);
    await output(page).getByText('2', { exact: true }).first().waitFor();
    await page.getByPlaceholder('Search in output').fill('^7654321$');
    await page.keyboard.press('Enter');
    await output(page).getByText('7654321', { exact: true }).first().waitFor();
    expect(served.errors).toEqual([]);
  });

  test('10 MB/s of output keep the page and the calls of the server going, and lose nothing', async () => {
    const [rounds, linesEach] = [100, 65_536];
    writeFileSync(join(place.work, 'mebibyte'), 'fifteen letters\n'.repeat(linesEach));
    await start(`for i in $(seq ${rounds}); do cat mebibyte; sleep 0.1; done; echo the end; sleep 300`);
    const page = await served.open();
    await group(page, 'Running').getByText('the end').click();
    await page.evaluate(watchFrames);
    const calls: number[] = [];
    while ((await output(page).getByText('the end', { exact: true }).count()) === 0) {
      const startedAt = performance.now();
      expect((await product.execute('echo quick')).data.stdout).toBe('quick\n');
      calls.push(performance.now() - startedAt);
    }
    await page.getByText(new RegExp(`^${grouped(rounds * linesEach + 1)} lines`)).waitFor();
    const longestFrame = await page.evaluate(() => (globalThis as { longestFrame?: number }).longestFrame);
    // As long as a person would wait, on a machine that has more to do.
    expect(calls.length).toBeGreaterThan(5);
    expect(Math.max(...calls)).toBeLessThan(10_000);
    expect(longestFrame).toBeLessThan(10_000);
    expect(served.errors).toEqual([]);
  });

  test('a page whose own server dies says so', async () => {
    await start('echo one; sleep 300');
    const page = await served.open();
    await group(page, 'Running').getByText('echo one').waitFor();
    served.kill();
    await page.getByText('Disconnected, trying again…').waitFor();
    expect(await page.getByText('echo one').count()).toBeGreaterThan(0);
  });

  test('what a server that was killed has left is shown, and ended', async () => {
    await start('echo mine; sleep 300');
    const [pid] = openedBy();
    const page = await served.open();
    await group(page, 'Running').getByText('echo mine').waitFor();
    process.kill(Number(pid), 'SIGKILL');
    await page.getByText('0 servers').waitFor();
    await group(page, 'Running').getByText('lost').waitFor();
    await page.getByRole('button', { name: 'End echo mine' }).click();
    await page.getByRole('button', { name: 'End it' }).click();
    await page.getByText('Ended with everything it had started.').waitFor();
    expect(served.errors).toEqual([]);
  });

  test('what one person does, another one sees', async () => {
    await start('echo shared; sleep 300');
    const [one, other] = [await served.open(), await served.open()];
    const tab = await one.context().newPage();
    await tab.goto(new URL('/', one.url()).href);
    await group(tab, 'Running').getByText('echo shared').waitFor();
    await group(other, 'Running').getByText('echo shared').waitFor();
    await group(one, 'Running').getByText('echo shared').click();
    await one.getByRole('button', { name: 'End', exact: true }).click();
    await one.getByRole('button', { name: 'End it' }).click();
    await group(other, 'Done').getByText('echo shared').waitFor();
    await group(tab, 'Done').getByText('echo shared').waitFor();
    expect(served.errors).toEqual([]);
  });

  test('a command is allowed once, allowed for the session, and denied without a reason', async () => {
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
    const executeAndPress = async (name: string): Promise<Called> => {
      const answer = execute();
      await group(page, 'Questions').getByText(command).click();
      await page.getByRole('button', { name, exact: true }).click();
      await group(page, 'Questions').waitFor({ state: 'detached' });
      return answer;
    };
    expect((await executeAndPress('Allow once')).data.stdout).toBe('done\n');
    // Once was once: it is asked again.
    expect((await executeAndPress('Allow for this session')).data.stdout).toBe('done\n');
    expect((await execute()).data.stdout).toBe('done\n');
    await group(page, 'Remembered approvals').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('The next such command asks again.').waitFor();
    const denied = await executeAndPress('Deny');
    expect(denied.text).toContain('the answer was no.');
    expect(denied.data).toMatchObject({ error: { details: { approval: 'declined' } } });
    expect(served.errors).toEqual([]);
  });

  test('the keyboard leads everywhere, and an empty page says what to do', async () => {
    const page = await served.open();
    await page.getByText('No command has run yet.').waitFor();
    await start('echo one; sleep 300');
    await start('echo two; sleep 300');
    await group(page, 'Running').getByText('echo two').waitFor();
    const chosen = page.locator('.item.chosen');
    await page.keyboard.press('j');
    await chosen.getByText('echo two').waitFor();
    await page.keyboard.press('j');
    await chosen.getByText('echo one').waitFor();
    await page.keyboard.press('k');
    await chosen.getByText('echo two').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('echo one');
    await group(page, 'Running').getByText('echo two').waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await output(page).getByText('one', { exact: true }).waitFor();
    await page.keyboard.press('f');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('search-output');
    await page.keyboard.press('Escape');
    await page.keyboard.press('2');
    await group(page, 'Audit log').waitFor();
    await page.keyboard.press('3');
    await group(page, 'Policy').waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('1');
    await group(page, 'Running').waitFor();
    expect(served.errors).toEqual([]);
  });

  test('a page that only shows has nothing to press', async () => {
    await served.close();
    served = servePage(place, browser, ['--read-only']);
    await start('echo shown; sleep 300');
    const page = await served.open();
    await group(page, 'Running').getByText('echo shown').click();
    await output(page).getByText('shown', { exact: true }).waitFor();
    await page.getByText('read-only', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: /^End/ }).count()).toBe(0);
    await page.keyboard.press('x');
    expect(await page.getByRole('dialog').count()).toBe(0);
    // Nor does a terminal take what the page would not send.
    const { data } = await product.call('terminal_create', {});
    const code = await page.evaluate(
      (id) =>
        new Promise<number>((resolve) => {
          const key = localStorage.getItem('shell-key');
          const socket = new WebSocket(`ws://${location.host}/api/terminals/${id}`, ['shell', `key.${key}`]);
          socket.addEventListener('open', () => socket.send('{"kind":"hold","isHeld":true}'));
          socket.addEventListener('close', (event) => resolve(event.code));
        }),
      data.terminal_id as string,
    );
    expect(code).toBe(1006);
  });

  test('it fits a phone, without a scroll bar below', async () => {
    await start(`echo ${'long '.repeat(100)}; sleep 300`);
    const page = await served.open();
    await page.setViewportSize({ width: 360, height: 640 });
    const fits = (): Promise<boolean> =>
      page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth);
    await group(page, 'Running').getByText('long long').click();
    await output(page).getByText('long long').first().waitFor();
    expect(await fits()).toBe(true);
    await page.getByRole('link', { name: 'Back to the list' }).click();
    await group(page, 'Running').waitFor();
    expect(await fits()).toBe(true);
    for (const name of ['Audit', 'Policy']) {
      await page.getByRole('link', { name, exact: true }).click();
      await page
        .getByRole('region', { name: name === 'Audit' ? 'Audit log' : 'Policy', exact: true })
        .waitFor();
      expect(await fits()).toBe(true);
    }
  });
});
