/**
 * What the server and the wrapper of a detached execution say to each other: one specification on the wrapper's stdin,
 * one line back, and from then on only files in the bundle (outcome-files.ts), since the server may be gone.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { readJson } from '../../base/attempt.ts';
import type { EncodedError } from '../../base/errors.ts';
import type { LaunchPermit } from '../../security/security.ts';
import { type Outcome, outcomeSchema } from '../record.ts';
import { OUTCOME } from './outcome-files.ts';

export const wrapperSpecSchema = z.object({
  id: z.string(),
  // Issued by security/ and handed on as it is.
  permit: z.custom<LaunchPermit>((value) => typeof value === 'object'),
  inputData: z.string().optional(),
  bundle: z.string(),
  streams: z.array(z.enum(['stdout', 'stderr', 'combined', 'log', 'cast'])),
  maxOutputBytes: z.number(),
  timeoutMs: z.number().optional(),
});
export type WrapperSpec = z.infer<typeof wrapperSpecSchema>;

export const wrapperReplySchema = z.union([
  z.object({ pid: z.number(), startTime: z.number(), group: z.string().optional() }),
  z.object({ error: z.custom<EncodedError>((value) => typeof value === 'object') }),
]);
export type WrapperReply = z.infer<typeof wrapperReplySchema>;

export function readOutcome(bundle: string): Outcome | undefined {
  const path = join(bundle, OUTCOME);
  // Asked for again and again, and nearly always not there yet.
  return existsSync(path) ? outcomeSchema.safeParse(readJson(path)).data : undefined;
}
