/**
 * How long a call may take before its client gives up on it. No client that was tried extends its limit on progress;
 * where a client's own limit is known, a call may use most of it.
 */
import { LIMITS } from '../base/limits.ts';
import type { ClientInfo } from './tool.ts';

const KNOWN: readonly { readonly name: RegExp; readonly seconds: number }[] = [
  // None was hit in 400 s of silence; the person waits, so not for ever.
  { name: /^claude-code/i, seconds: 300 },
  // tool_timeout_sec is 300 by default.
  { name: /^codex/i, seconds: 240 },
  // 10 minutes by default.
  { name: /^gemini-cli/i, seconds: 300 },
];

export function patienceMs(client: ClientInfo, configuredSeconds: number | undefined): number {
  const known = KNOWN.find((entry) => entry.name.test(client.name))?.seconds;
  return (configuredSeconds ?? known ?? LIMITS.maxWaitSeconds) * 1000;
}
