import { LIMITS } from '../base/limits.ts';
import type { ClientInfo } from '../tools/tool.ts';

/** What a client says of itself, as far as it is text; it is untrusted and ends up in records. */
export function clientInfoOf(info: unknown): ClientInfo {
  const { name, version } = (info ?? {}) as { name?: unknown; version?: unknown };
  return { name: cut(name), version: cut(version) };
}

/** Whether a client with these capabilities can show a form. One that names no way at all is from before there were two. */
export function canAsk(capabilities: unknown): boolean {
  const elicitation = elicitationIn(capabilities);
  return elicitation !== undefined && ('form' in elicitation || !('url' in elicitation));
}

/** Whether a client with these capabilities can lead a person to an address. */
export function canOpen(capabilities: unknown): boolean {
  return 'url' in (elicitationIn(capabilities) ?? {});
}

function elicitationIn(capabilities: unknown): object | undefined {
  const { elicitation } = (capabilities ?? {}) as { elicitation?: unknown };
  return typeof elicitation === 'object' && elicitation !== null ? elicitation : undefined;
}

function cut(text: unknown): string {
  return typeof text === 'string' ? text.slice(0, LIMITS.clientNameCharacters) : '';
}
