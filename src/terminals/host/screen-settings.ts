/** What a program has set besides what it wrote: the title and the cursor, and how often it drew anew. */
import type { Terminal } from '@xterm/headless';

/** A program may set a title of megabytes; nobody can read more than this. */
const MAX_TITLE_CHARS = 256;
/** Enough for all 256 of them. */
const MAX_COLOURS_CHARS = 8192;

export type Settings = ReturnType<typeof watchSettings>;

export function watchSettings(terminal: Terminal) {
  const settings = { title: '', isCursorVisible: true, redraws: 0 };
  terminal.onTitleChange((text) => {
    settings.title = text;
  });
  const cutTitle = (text: string): boolean => {
    const isLong = text.length > MAX_TITLE_CHARS;
    if (isLong) settings.title = text.slice(0, MAX_TITLE_CHARS);
    return isLong;
  };
  for (const number of [0, 2]) terminal.parser.registerOscHandler(number, cutTitle);
  // Of a palette of thousands of colours, which nobody sees, the emulator copies the rest for each one.
  const isLong = (text: string): boolean => text.length > MAX_COLOURS_CHARS;
  for (const number of [4, 10, 11, 12, 104]) terminal.parser.registerOscHandler(number, isLong);
  // The name of an icon, which nobody reads.
  terminal.parser.registerOscHandler(1, () => true);
  const watchCursor = (isVisible: boolean) => (params: readonly (number | number[])[]) => {
    if (params.includes(25)) settings.isCursorVisible = isVisible;
    return false;
  };
  terminal.parser.registerCsiHandler({ prefix: '?', final: 'h' }, watchCursor(true));
  terminal.parser.registerCsiHandler({ prefix: '?', final: 'l' }, watchCursor(false));
  terminal.parser.registerCsiHandler({ final: 'H' }, (params) => {
    if ((params[0] ?? 0) === 0 || (params[0] === 1 && (params[1] ?? 1) === 1)) settings.redraws++;
    return false;
  });
  return settings;
}
