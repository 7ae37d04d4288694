/**
 * What is known of clients: how long a call may take before one gives up on it (none that was tried extends its limit on
 * progress), and how much of an answer it passes on. Up to most of that is used.
 */
import { LIMITS } from '../base/limits.ts';
import type { ClientInfo } from './tool.ts';

interface KnownClient {
  readonly name: RegExp;
  readonly seconds: number;
  /** Of output in one answer; JSON makes a quarter more of it. */
  readonly bytes: number;
}

const KNOWN: readonly KnownClient[] = [
  // No limit of time was hit in 400 s of silence; the person waits, so not for ever. It passes on 50,000 characters.
  { name: /^claude-code/i, seconds: 300, bytes: 36 * 1024 },
  // tool_timeout_sec is 300 by default. It cuts the middle out of what is longer than 12,700 characters.
  { name: /^codex/i, seconds: 240, bytes: 9 * 1024 },
  // 10 minutes by default; 40,000 characters.
  { name: /^gemini-cli/i, seconds: 300, bytes: 28 * 1024 },
];

const find = ({ name }: ClientInfo): KnownClient | undefined => KNOWN.find((known) => known.name.test(name));

export function patienceMs(client: ClientInfo, configuredSeconds: number | undefined): number {
  return (configuredSeconds ?? find(client)?.seconds ?? LIMITS.maxWaitSeconds) * 1000;
}

/** How much output an answer to it may hold. */
export function answerBytes(client: ClientInfo): number {
  return find(client)?.bytes ?? LIMITS.inlineOutputBytesMax;
}
