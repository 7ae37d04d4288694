/** What `--json` prints: for programs, but on a terminal first, where no text of a command may do anything. */
import { escapeJson } from '../security/security.ts';

export function showJson(value: unknown): string {
  return `${escapeJson(JSON.stringify(value, null, 2))}\n`;
}
