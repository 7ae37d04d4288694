/**
 * Which names of sessions were used: a file of hashes that outlives servers and the records of executions. It has room for
 * some thousands; of more than that the oldest are forgotten.
 */
import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { attempt } from '../base/attempt.ts';
import { makePrivateDirectory, readUtf8, writeFileWhole } from '../base/files.ts';

export type SessionNames = ReturnType<typeof createSessionNames>;

/** Enough to tell names apart: 72 bits. */
const HASH_BYTES = 9;
/** For 4096 lines of 13 bytes. It is read only for a name of which the server has no state. */
const MAX_BYTES = 52 * 1024;

export function createSessionNames(path: string) {
  const read = (): string => attempt(() => readUtf8(path)) ?? '';
  return {
    has: (principal: string, sessionId: string): boolean => read().includes(lineOf(principal, sessionId)),
    /** Throws where the disk refuses. */
    remember(principal: string, sessionId: string): void {
      const text = read();
      const line = lineOf(principal, sessionId);
      // Of a full file the newer half stays; a name in that half need not be written again.
      const newer = text.slice(-MAX_BYTES / 2);
      if (newer.includes(line)) return;
      makePrivateDirectory(dirname(path));
      if (text.length + line.length <= MAX_BYTES) appendFileSync(path, line, { mode: 0o600 });
      else writeFileWhole(path, newer.slice(newer.indexOf('\n') + 1) + line);
    },
  };
}

function lineOf(principal: string, sessionId: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([principal, sessionId]))
    .digest();
  return `${hash.subarray(0, HASH_BYTES).toString('base64url')}\n`;
}
