/**
 * The bearer tokens of HTTP callers as they are kept: one file in the state directory, which no command sees, with a
 * hash for each. What a token may do is written beside it and can only narrow what the operator's settings allow.
 */
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { PRESET_NAMES } from '../../base/config/presets.ts';
import { errnoOf, messageOf, ShellServerError } from '../../base/errors.ts';
import { makePrivateDirectory, writeFileWhole } from '../../base/files.ts';

/** A principal's name goes into records and logs, and is compared as it is. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;

const time = z.iso.datetime();

const storedToken = z.strictObject({
  name: z.string().regex(NAME),
  /** Whose executions, outputs and terminals it opens. */
  principal: z.string().regex(NAME),
  /** Of the token, in hexadecimal. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  createdAt: time,
  expiresAt: time.optional(),
  /** What the principal starts with, where that is stricter than the operator's. */
  preset: z.enum(PRESET_NAMES).optional(),
  /** Toolsets and single tools; absent: all that the server has. */
  tools: z.array(z.string().min(1)).min(1).optional(),
  /** Only tools that change nothing. */
  isReadOnly: z.boolean().optional(),
});

const tokenFile = z.strictObject({ format: z.literal(1), tokens: z.array(storedToken) });

export type StoredToken = Readonly<z.output<typeof storedToken>>;

export const tokenFileIn = (stateDirectory: string): string => join(stateDirectory, 'tokens.json');

export const isPrincipalName = (text: string): boolean => NAME.test(text);

/** Empty where there is no file; throws SYSTEM_003 where it cannot be understood. */
export function readTokenFile(path: string): StoredToken[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw unreadable(path, error);
  }
  try {
    return tokenFile.parse(JSON.parse(text)).tokens;
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, cause: unknown): ShellServerError {
  const reason = cause instanceof z.ZodError ? 'it has another form' : messageOf(cause);
  return new ShellServerError('SYSTEM_003', `The tokens in ${path} cannot be read: ${reason}.`, {
    hint: 'Its tokens are not accepted. Correct the file, or remove it and create new tokens.',
    cause,
  });
}

/** Between two attempts to be the only one who changes it, and how many there are. */
const LOCK_MS = 50;
const LOCK_ATTEMPTS = 60;

/** Reads, changes and writes it, one at a time: of two who read the same file, one would undo the other's change. */
export async function changeTokenFile(
  stateDirectory: string,
  change: (tokens: readonly StoredToken[]) => readonly StoredToken[],
): Promise<void> {
  const path = tokenFileIn(stateDirectory);
  makePrivateDirectory(stateDirectory);
  const lock = `${path}.lock`;
  await takeLock(lock);
  try {
    writeFileWhole(path, `${JSON.stringify({ format: 1, tokens: change(readTokenFile(path)) }, null, 2)}\n`);
  } finally {
    rmSync(lock, { force: true });
  }
}

async function takeLock(lock: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      closeSync(openSync(lock, 'wx', 0o600));
      return;
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
      if (attempt === LOCK_ATTEMPTS) {
        throw new ShellServerError('SYSTEM_002', 'Another process is changing the tokens.', {
          hint: `Try again. If no other process is running, an earlier attempt was killed: remove ${lock}.`,
        });
      }
      await sleep(LOCK_MS);
    }
  }
}
