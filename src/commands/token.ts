/** `token create`, `token list` and `token revoke`: who may call the server over HTTP, and what for. */
import { pickTools } from '../all-tools.ts';
import { isoTime, systemClock } from '../base/clock.ts';
import { strictest } from '../base/config/keys.ts';
import type { PresetName } from '../base/config/presets.ts';
import { ShellServerError } from '../base/errors.ts';
import type { Settings } from '../base/settings.ts';
import { checkStateDirectory } from '../base/state-directory.ts';
import { escapeText } from '../security/security.ts';
import {
  createToken,
  isExpired,
  listTokens,
  revokeToken,
  type StoredToken,
} from '../security/tokens/tokens.ts';
import type { CommandContext } from './context.ts';
import { print } from './json.ts';
import { recordAsOperator } from './read-record.ts';
import { type Column, renderTable } from './text-table.ts';
import { parseSpan, parseTime, showTime } from './when.ts';

export interface CreateOptions {
  readonly principal?: string;
  readonly preset?: PresetName;
  readonly tools?: string;
  readonly readOnly?: boolean;
  readonly expires?: string;
  readonly replace?: boolean;
  readonly json?: boolean;
}

export async function createTokenCommand(
  context: CommandContext,
  name: string,
  options: CreateOptions,
): Promise<void> {
  const settings = context.settings();
  const { token, stored } = await issueToken(settings, {
    name,
    principal: options.principal,
    preset: options.preset,
    tools: parseTools(options.tools),
    isReadOnly: options.readOnly,
    expiresAtMs: parseExpiry(options.expires, systemClock.now()),
    replaces: options.replace,
  });
  print(
    context,
    options,
    { token, ...about(stored) },
    () =>
      `${token}\n\n${describe(stored)}\nIt is shown this once. Servers on ${settings.stateDir} take it from now on.\n`,
  );
}

/** For a client that `install` connects: there is one for each, and a new one takes its place. */
export async function createOwnToken(
  settings: Settings,
  wish: { readonly name: string; readonly preset: PresetName | undefined },
): Promise<string> {
  return (await issueToken(settings, { ...wish, replaces: true })).token;
}

function issueToken(settings: Settings, wish: Parameters<typeof createToken>[1]) {
  const { stateDir } = settings;
  checkStateDirectory(stateDir);
  checkPreset(wish.preset, settings);
  const record = recorder(settings, 'token_created');
  return createToken(stateDir, wish, { nowMs: systemClock.now(), record });
}

export function listTokensCommand(context: CommandContext, options: { readonly json?: boolean }): void {
  const tokens = listTokens(context.settings().stateDir);
  print(context, options, tokens.map(about), () => {
    const hasOthers = tokens.some(({ name, principal }) => name !== principal);
    const columns = hasOthers ? COLUMNS : COLUMNS.filter(({ title }) => title !== 'PRINCIPAL');
    return tokens.length === 0 ? 'There are no tokens.\n' : renderTable(columns, tokens, context);
  });
}

/** Days are enough here; --json has the times. */
const dayOf = (iso: string): string => iso.slice(0, 10);

const COLUMNS: readonly Column<StoredToken>[] = [
  { title: 'TOKEN', show: ({ name }) => escapeText(name) },
  { title: 'PRINCIPAL', show: ({ principal }) => escapeText(principal) },
  { title: 'PRESET', show: ({ preset }) => preset ?? '-' },
  { title: 'CREATED', show: ({ createdAt }) => dayOf(createdAt) },
  {
    title: 'EXPIRES',
    show: (token) => {
      if (token.expiresAt === undefined) return 'never';
      return isExpired(token, systemClock.now()) ? { text: 'expired', tone: 'bad' } : dayOf(token.expiresAt);
    },
  },
  {
    title: 'TOOLS',
    show: ({ tools, isReadOnly }) =>
      `${tools?.map(escapeText).join(', ') ?? 'all'}${isReadOnly === true ? ', read-only' : ''}`,
  },
];

export async function revokeTokenCommand(context: CommandContext, name: string): Promise<void> {
  const settings = context.settings();
  await revokeToken(settings.stateDir, name, recorder(settings, 'token_revoked'));
  context.output.write(
    `Revoked: ${escapeText(name)}. Servers refuse it from now on; what its principal has running goes on.\n`,
  );
}

/** Everything but the hash. */
function about(token: StoredToken): Omit<StoredToken, 'sha256'> {
  const { sha256: _, ...rest } = token;
  return rest;
}

function describe(token: StoredToken): string {
  const { name, principal, preset, tools, isReadOnly, createdAt, expiresAt } = token;
  return [
    name,
    ...(principal === name ? [] : [`of ${principal}`]),
    ...(preset === undefined ? [] : [`preset ${preset}`]),
    ...(tools === undefined ? [] : [`tools ${tools.join(', ')}`]),
    ...(isReadOnly === true ? ['read-only'] : []),
    `since ${showTime(createdAt)}`,
    ...(expiresAt === undefined ? [] : [`until ${showTime(expiresAt)}`]),
  ]
    .map(escapeText)
    .join('  ');
}

/** A looser one than the operator's own would be a promise that the server does not keep. */
function checkPreset(preset: PresetName | undefined, { security }: Settings): void {
  if (preset === undefined || strictest('security.preset', [security.preset, preset]) === preset) return;
  throw new ShellServerError(
    'PARAM_002',
    `The preset ${preset} is looser than ${security.preset} in the settings.`,
    { hint: 'A token can only be stricter. Change security.preset, or leave --preset out.' },
  );
}

function parseTools(text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined;
  const names = text.split(',').map((name) => name.trim());
  for (const name of names) {
    if (pickTools([name]).length === 0)
      throw new ShellServerError('PARAM_002', `--tools is wrong: ${JSON.stringify(name.slice(0, 80))}.`, {
        hint: 'It must be a tool or a toolset.',
      });
  }
  return names;
}

function parseExpiry(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  const span = parseSpan(text);
  const atMs = span === undefined ? parseTime(text) : nowMs + span;
  const hint = 'Write 12h, 30d or 8w (from now), or a date such as 2027-01-31.';
  if (atMs !== undefined && atMs > nowMs) return atMs;
  const problem =
    atMs === undefined
      ? `: ${JSON.stringify(text.slice(0, 80))} is not a valid time`
      : ` is in the past: ${showTime(isoTime(atMs))}`;
  throw new ShellServerError('PARAM_002', `--expires${problem}.`, { hint });
}

const recorder =
  (settings: Settings, event: 'token_created' | 'token_revoked') =>
  (token: StoredToken): void =>
    recordAsOperator(settings, { event, scope: about(token) });
