/** A terminal of the product, driven through its tools. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Called, Product } from './product.ts';

export interface TestTerminal {
  readonly id: string;
  /** What terminal_create answered. */
  readonly opened: Called['data'];
  /** terminal_send_input; answers with its fields. */
  send(args: Record<string, unknown>): Promise<Called['data']>;
  /** Enters a command and waits for what comes of it. */
  run(command: string, args?: Record<string, unknown>): Promise<Called['data']>;
  /** Presses keys and waits for what comes of it. */
  press(...keys: string[]): Promise<Called['data']>;
  /** terminal_get_output. */
  read(args?: Record<string, unknown>): Promise<Called['data']>;
  /** The rows of the screen. */
  screen(): Promise<string[]>;
  /** A program draws when it gets to it: waits for the screen that is meant. */
  shows(rows: readonly unknown[]): Promise<void>;
  /** The same, where only parts of it are known. */
  showsText(text: string | RegExp): Promise<void>;
  info(): Promise<Called['data']>;
  close(args?: Record<string, unknown>): Promise<Called['data']>;
}

/** Longer than anything takes on a slow machine; what is waited for comes much sooner. */
export const LONG_MS = 60_000;
export const LONG = { timeout_seconds: 40 };

/** Start-up files with which prompts are the same for everybody. */
export function writePrompts(home: string): void {
  writeFileSync(join(home, '.bashrc'), "PS1='$ '\n");
  writeFileSync(join(home, '.zshrc'), "PS1='$ '\n");
  mkdirSync(join(home, '.config/fish'), { recursive: true });
  writeFileSync(join(home, '.config/fish/config.fish'), "function fish_prompt; printf '$ '; end\n");
}

export async function openTerminal(
  product: Product,
  args: Record<string, unknown> = {},
): Promise<TestTerminal> {
  const opened = await product.call('terminal_create', { shell_type: 'bash', ...args });
  expect(opened.data).not.toHaveProperty('error');
  return terminalOf(product, opened.data);
}

export function terminalOf(product: Product, opened: Called['data']): TestTerminal {
  const id = opened.terminal_id as string;
  const call = async (tool: string, args: Record<string, unknown>): Promise<Called['data']> =>
    (await product.call(`terminal_${tool}`, { terminal_id: id, ...args })).data;
  const screen = async (): Promise<string[]> =>
    ((await call('get_output', { view: 'screen' })).output as string).split('\n');
  return {
    id,
    opened,
    send: (args) => call('send_input', args),
    run: (command, more) => call('send_input', { input: command, execute: true, ...LONG, ...more }),
    press: (...keys) => call('send_input', { keys, ...LONG }),
    read: (more = {}) => call('get_output', more),
    screen,
    async shows(rows) {
      await expect.poll(screen, { timeout: LONG_MS }).toEqual(rows);
    },
    async showsText(text) {
      await expect.poll(async () => (await screen()).join('\n'), { timeout: LONG_MS }).toMatch(text);
    },
    info: () => call('get_info', {}),
    close: (more = {}) => call('close', more),
  };
}
