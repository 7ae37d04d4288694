/** The operator's page, served by the built program and shown in a real browser. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import type { Place } from './product.ts';
import { startRaw } from './raw-process.ts';

/** Debian's, without a sandbox of its own: tests run as root and in containers. */
export function launchBrowser(): Promise<Browser> {
  const executablePath = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((directory) => join(directory, 'chromium'))
    .find((path) => existsSync(path));
  if (executablePath === undefined) throw new Error('chromium is not installed');
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** On a machine that has much else to do. */
const TIMEOUT_MS = 60_000;

export interface ServedPage {
  /** A tab of a new profile, on a link of its own, open until the test has finished. */
  open(): Promise<Page>;
  /** What pages have logged as errors, a violation of the content policy included. */
  readonly errors: string[];
  /** As a crash would. */
  kill(): void;
  close(): Promise<void>;
}

export function servePage(place: Place, browser: Browser, args: readonly string[] = []): ServedPage {
  const served = startRaw(place.command(['web', ...args]));
  const exited = new Promise((resolve) => {
    served.child.once('exit', resolve);
  });
  const errors: string[] = [];
  let used = 0;

  /** The next one that was printed; Enter prints another. */
  async function nextLink(): Promise<string> {
    const links = (): string[] => [...served.stdout().matchAll(/http:\S+#\S+(?=\n)/g)].map(([link]) => link);
    if (used > 0) served.write('\n');
    used++;
    await expect.poll(() => links().length, { timeout: 60_000 }).toBeGreaterThanOrEqual(used);
    return links()[used - 1] ?? '';
  }

  return {
    errors,
    async open() {
      const link = await nextLink();
      const context = await browser.newContext();
      context.setDefaultTimeout(TIMEOUT_MS);
      // One that stays goes on drawing what the other tests do.
      onTestFinished(() => context.close());
      const page = await context.newPage();
      page.on('pageerror', (error) => errors.push(error.message));
      page.on('console', (message) => {
        if (message.type() === 'error') errors.push(message.text());
      });
      await page.goto(link);
      return page;
    },
    kill: () => void served.child.kill('SIGKILL'),
    async close() {
      served.child.kill('SIGTERM');
      await exited;
    },
  };
}
