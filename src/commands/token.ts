/** `token create`, `token list` and `token revoke`: who may call the server over HTTP, and what for. */
import { isoTime, systemClock } from '../base/clock.ts';
import { PRESET_NAMES, type PresetName } from '../base/config/presets.ts';
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
import { TOOL_NAMES } from '../tools/tools.ts';
import type { CommandContext } from './context.ts';
import { showJson } from './json.ts';
import { createPaint, widthOf } from './paint.ts';
import { recordAsOperator } from './read-record.ts';
import { type Cell, type Column, renderTable } from './text-table.ts';
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
  checkStateDirectory(settings.stateDir);
  const nowMs = systemClock.now();
  const { token, stored } = await createToken(
    settings.stateDir,
    {
      name,
      principal: options.principal,
      preset: checkPreset(options.preset, settings),
      tools: parseTools(options.tools),
      isReadOnly: options.readOnly,
      expiresAtMs: parseExpiry(options.expires, nowMs),
      replaces: options.replace,
    },
    { nowMs, record: recorder(settings, 'token_created') },
  );
  if (options.json === true) {
    context.output.write(`${JSON.stringify({ token, ...about(stored) }, null, 2)}\n`);
    return;
  }
  context.output.write(
    `${token}\n\n${describe(stored)}\nIt is shown this once. Servers on ${settings.stateDir} take it from now on.\n`,
  );
}

/** For a client that `install` connects: there is one for each, and a new one takes its place. */
export async function createOwnToken(
  settings: Settings,
  { name, preset }: { readonly name: string; readonly preset: PresetName | undefined },
): Promise<string> {
  checkStateDirectory(settings.stateDir);
  const { token } = await createToken(
    settings.stateDir,
    { name, preset: checkPreset(preset, settings), replaces: true },
    { nowMs: systemClock.now(), record: recorder(settings, 'token_created') },
  );
  return token;
}

export function listTokensCommand(context: CommandContext, options: { readonly json?: boolean }): void {
  const tokens = listTokens(context.settings().stateDir);
  if (options.json === true) {
    context.output.write(showJson(tokens.map(about)));
    return;
  }
  if (tokens.length === 0) {
    context.output.write('There are no tokens.\n');
    return;
  }
  const nowMs = systemClock.now();
  const columns = COLUMNS.filter(({ isShown }) => isShown?.(tokens) ?? true);
  const rows = tokens.map((token) => columns.map(({ show }) => show(token, nowMs)));
  const paint = createPaint(context);
  context.output.write(renderTable(columns, rows, { paint, width: widthOf(context.output) }));
}

type TokenColumn = Column & {
  /** Undefined: always. */
  readonly isShown?: (tokens: readonly StoredToken[]) => boolean;
  show(token: StoredToken, nowMs: number): Cell;
};

/** Days are enough here; --json has the times. */
const dayOf = (iso: string): string => iso.slice(0, 10);

const COLUMNS: readonly TokenColumn[] = [
  { title: 'TOKEN', show: ({ name }) => escapeText(name) },
  {
    title: 'PRINCIPAL',
    isShown: (tokens) => tokens.some(({ name, principal }) => name !== principal),
    show: ({ principal }) => escapeText(principal),
  },
  { title: 'PRESET', show: ({ preset }) => preset ?? '-' },
  { title: 'CREATED', show: ({ createdAt }) => dayOf(createdAt) },
  {
    title: 'EXPIRES',
    show: (token, nowMs) => {
      if (token.expiresAt === undefined) return 'never';
      return isExpired(token, nowMs) ? { text: 'expired', tone: 'bad' } : dayOf(token.expiresAt);
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
function checkPreset(preset: PresetName | undefined, { security }: Settings): PresetName | undefined {
  if (preset === undefined) return undefined;
  if (PRESET_NAMES.indexOf(preset) < PRESET_NAMES.indexOf(security.preset)) {
    throw new ShellServerError(
      'PARAM_002',
      `The preset ${preset} is looser than ${security.preset} in the settings.`,
      { hint: 'A token can only be stricter. Change security.preset, or leave --preset out.' },
    );
  }
  return preset;
}

function parseTools(text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined;
  const names = text.split(',').map((name) => name.trim());
  for (const name of names) {
    if (!Object.hasOwn(TOOL_NAMES, name)) throw wrong('--tools', name, 'a tool or a toolset');
  }
  return names;
}

function parseExpiry(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  const span = parseSpan(text);
  const atMs = span === undefined ? parseTime(text) : nowMs + span;
  const hint = 'Write 12h, 30d or 8w (from now), or a date such as 2027-01-31.';
  if (atMs === undefined)
    throw new ShellServerError(
      'PARAM_002',
      `--expires: ${JSON.stringify(text.slice(0, 80))} is not a valid time.`,
      {
        hint,
      },
    );
  if (atMs > nowMs) return atMs;
  throw new ShellServerError('PARAM_002', `--expires is in the past: ${showTime(isoTime(atMs))}.`, { hint });
}

function wrong(option: string, text: string, wanted: string): ShellServerError {
  return new ShellServerError('PARAM_002', `${option} is wrong: ${JSON.stringify(text.slice(0, 80))}.`, {
    hint: `It must be ${wanted}.`,
  });
}

function recorder(
  settings: Settings,
  event: 'token_created' | 'token_revoked',
): (token: StoredToken) => void {
  const { stateDir, audit } = settings;
  return (token) => recordAsOperator(stateDir, { event, scope: about(token) }, { syncs: audit.syncs });
}
