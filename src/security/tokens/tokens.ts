/**
 * Tokens for the operator, who makes and revokes them, and for the server, which looks them up. A token is 256 random
 * bits, so that one SHA-256 hides it: there is nothing to guess that a slow hash would have to protect.
 */
import { createHash, randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { isoTime } from '../../base/clock.ts';
import type { PresetName } from '../../base/config/presets.ts';
import { messageOf, ShellServerError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import { LOCAL_PRINCIPAL } from '../../base/principals.ts';
import {
  changeTokenFile,
  isPrincipalName,
  readTokenFile,
  type StoredToken,
  tokenFileIn,
} from './token-file.ts';

export type { StoredToken } from './token-file.ts';

/** So that scanners for secrets, and people, know what they have found. */
export const TOKEN_PREFIX = 'mcpsh_';

/** Who is in the audit log without being a caller; nobody may pass for them. */
const NOBODYS = ['operator', 'server', 'nobody'];

export interface TokenWish {
  readonly name: string;
  /** Whose work it opens; absent: a principal of the token's own name. */
  readonly principal?: string | undefined;
  readonly preset?: PresetName | undefined;
  readonly tools?: readonly string[] | undefined;
  readonly isReadOnly?: boolean | undefined;
  readonly expiresAtMs?: number | undefined;
  /** Takes the place of the token of that name, which then is no longer valid. */
  readonly replaces?: boolean | undefined;
}

/**
 * The token itself is returned once and not stored. `record` is asked before it holds, and may refuse
 * by throwing.
 */
export async function createToken(
  stateDirectory: string,
  wish: TokenWish,
  { nowMs, record }: { readonly nowMs: number; readonly record: (stored: StoredToken) => void },
): Promise<{ readonly token: string; readonly stored: StoredToken }> {
  const principal = wish.principal ?? wish.name;
  checkName('The name', wish.name);
  checkName('The principal', principal);
  if (NOBODYS.includes(principal) || (principal === LOCAL_PRINCIPAL && wish.principal === undefined)) {
    throw new ShellServerError('PARAM_002', `"${principal}" cannot be the name of a principal.`, {
      hint:
        principal === LOCAL_PRINCIPAL
          ? 'It is the operator, on stdio or with MCP_SHELL_TOKEN. Use --principal local to grant access to that work.'
          : 'Choose another name: the audit log uses this one itself.',
    });
  }
  const token = `${TOKEN_PREFIX}${randomBytes(32).toString('base64url')}`;
  const stored: StoredToken = {
    name: wish.name,
    principal,
    sha256: hashOf(token).toString('hex'),
    createdAt: isoTime(nowMs),
    ...(wish.expiresAtMs !== undefined && { expiresAt: isoTime(wish.expiresAtMs) }),
    ...(wish.preset !== undefined && { preset: wish.preset }),
    ...(wish.tools !== undefined && { tools: [...wish.tools] }),
    ...(wish.isReadOnly === true && { isReadOnly: true }),
  };
  await changeTokenFile(stateDirectory, (tokens) => {
    const others = tokens.filter(({ name }) => name !== wish.name);
    if (others.length < tokens.length && wish.replaces !== true) {
      throw new ShellServerError('RESOURCE_004', `The token "${wish.name}" exists already.`, {
        hint: 'Choose another name, revoke it, or replace it with --replace.',
      });
    }
    checkPreset(stored, others);
    record(stored);
    return [...others, stored];
  });
  return { token, stored };
}

/** The preset is the principal's: a second token with a looser one would say something that does not hold. */
function checkPreset({ principal, preset }: StoredToken, others: readonly StoredToken[]): void {
  const other = others.find((token) => token.principal === principal && token.preset !== preset);
  if (other === undefined) return;
  throw new ShellServerError(
    'PARAM_002',
    `The preset of "${principal}" is ${other.preset ?? "the server's own"}, by the token "${other.name}".`,
    { hint: 'All tokens of a principal must have the same preset.' },
  );
}

function checkName(what: string, name: string): void {
  if (isPrincipalName(name)) return;
  throw new ShellServerError('PARAM_002', `${what} ${JSON.stringify(name.slice(0, 80))} cannot be used.`, {
    hint: 'Use letters, digits, ".", "_", "@" and "-", 64 at most, a letter or digit first.',
  });
}

/** Throws RESOURCE_001 where there is no token of that name. */
export async function revokeToken(
  stateDirectory: string,
  name: string,
  record: (revoked: StoredToken) => void,
): Promise<void> {
  await changeTokenFile(stateDirectory, (tokens) => {
    const revoked = tokens.find((token) => token.name === name);
    if (revoked === undefined) {
      throw new ShellServerError('RESOURCE_001', `There is no token ${JSON.stringify(name.slice(0, 80))}.`, {
        hint: '`mcp-shell-server token list` lists all tokens.',
      });
    }
    record(revoked);
    return tokens.filter((token) => token !== revoked);
  });
}

export function listTokens(stateDirectory: string): StoredToken[] {
  return readTokenFile(tokenFileIn(stateDirectory));
}

export const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

export const isExpired = ({ expiresAt }: StoredToken, nowMs: number): boolean =>
  expiresAt !== undefined && Date.parse(expiresAt) <= nowMs;

/**
 * The tokens as they are now, for a server that runs: the file is looked at for each request and read where it has
 * changed, so that a revocation holds from the next request on. A file that cannot be read has no tokens.
 */
export function watchTokens(options: {
  readonly stateDirectory: string;
  readonly log: Log;
}): () => readonly StoredToken[] {
  const path = tokenFileIn(options.stateDirectory);
  let stamp = '';
  let tokens: readonly StoredToken[] = [];
  return () => {
    const now = stampOf(path);
    if (now === stamp) return tokens;
    try {
      tokens = readTokenFile(path);
    } catch (error) {
      tokens = [];
      options.log.error('no stored token is accepted', { error: messageOf(error) });
    }
    stamp = now;
    return tokens;
  };
}

/** It is replaced as a whole, so that a change is a new file. */
function stampOf(path: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch (error) {
    return messageOf(error);
  }
}
