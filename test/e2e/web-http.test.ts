/** The operator's page of a server over HTTP, in a browser. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needs } from '../setup/needs.ts';
import { launchBrowser } from './support/page.ts';
import { createPlace, type Place } from './support/product.ts';
import { type RunningProduct, startProductHttp } from './support/product-http.ts';
import { modernRequest, sendRaw } from './support/raw-http.ts';
import { call } from './support/raw-streams.ts';

describe.skipIf(needs('chromium'))('the page of a server over HTTP', () => {
  let browser: Browser;
  let place: Place;
  let server: RunningProduct;
  beforeAll(async () => {
    place = createPlace();
    [browser, server] = await Promise.all([
      launchBrowser(),
      startProductHttp(place, [], { MCP_SHELL_HTTP_UI: 'true', MCP_SHELL_SECURITY_SANDBOX: 'off' }),
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
    place.remove();
  });

  const tool = async (name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const { json } = await sendRaw(server.url, modernRequest(call(1, name, args), server.token));
    return (json['result'] as { structuredContent: Record<string, unknown> }).structuredContent;
  };

  test('the operator signs in with the token, and takes over a terminal', async () => {
    await tool('terminal_create', { session_name: 'shared' });
    const context = await browser.newContext();
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('pageerror', ({ message }) => errors.push(message));
    // A link to a view leads there after the sign-in.
    await page.goto(new URL('/ui/#/policy', server.url).href);
    await page.getByLabel('Operator’s token').fill('not-the-token');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The bearer token is not valid.').waitFor();
    await page.getByLabel('Operator’s token').fill(server.token);
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Policy', exact: true }).waitFor();
    await page.goto(new URL('/ui/#/', server.url).href);
    await page.getByRole('region', { name: 'Running', exact: true }).getByText('shared').click();
    await page.getByRole('button', { name: 'Take over' }).click();
    await page.getByText('You type.').waitFor();
    await page.keyboard.type('echo "over "http\n');
    await page.getByRole('region', { name: 'Terminal' }).getByText('over http', { exact: true }).waitFor();
    // Another tab has the session, and the token is stored nowhere.
    const tab = await context.newPage();
    await tab.goto(new URL('/ui/', server.url).href);
    await tab.getByRole('region', { name: 'Executions' }).waitFor();
    expect(await tab.evaluate(() => JSON.stringify(Object.entries(localStorage)))).not.toContain(
      server.token,
    );
    expect(errors).toEqual([]);
  });
});
