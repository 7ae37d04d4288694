/** What `--json` prints: for programs, but on a terminal first, where no text of a command may do anything. */
import { escapeJson } from '../security/security.ts';
import type { CommandContext } from './context.ts';

export function showJson(value: unknown): string {
  return `${escapeJson(JSON.stringify(value, null, 2))}\n`;
}

/** What a command has found out: as JSON where that was asked for, else as text. */
export function print(
  { output }: Pick<CommandContext, 'output'>,
  { json }: { readonly json?: boolean },
  data: unknown,
  text: () => string,
): void {
  output.write(json === true ? showJson(data) : text());
}
