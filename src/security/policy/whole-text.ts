/** Whether a shell that was given these lines waits for no more of them. */
import { parseBounded } from './parse.ts';

/** What would be the next command. */
const NEXT = '__next__';

/** False where that is not certain: an open quote, a here-document, a compound command or `&&` takes the next line. */
export function isWholeText(text: string): boolean {
  const parsed = parseBounded(`${text}\n${NEXT}`);
  if (parsed.kind !== 'parsed') return false;
  const last = parsed.script.commands.at(-1);
  return last?.command.type === 'Command' && last.command.pos === text.length + 1;
}
