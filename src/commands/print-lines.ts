/**
 * Writes the output of a command to a person's terminal, line by line as a terminal would show it: no escape sequence of
 * it reaches the window. Raw, it passes every byte on as it is.
 */
import { once } from 'node:events';
import { StringDecoder } from 'node:string_decoder';
import { asShown } from '../outputs/outputs.ts';
import { escapeText } from '../security/security.ts';

export type LineWriter = ReturnType<typeof createLineWriter>;

/** A line that does not end is cut here, so that it does not fill our memory. */
const MAX_LINE = 1024 * 1024;

export function createLineWriter(output: NodeJS.WritableStream, isRaw: boolean) {
  const decoder = new StringDecoder('utf8');
  let line = '';
  /** Of the line without an end: what is on the screen already. */
  let shown = '';

  async function put(data: string | Buffer): Promise<void> {
    if (data.length > 0 && !output.write(data)) await once(output, 'drain');
  }

  /** What is new of a line, of which a part may have been shown. */
  function rest(text: string): string {
    const clean = cleanLine(text);
    if (clean.startsWith(shown)) return clean.slice(shown.length);
    return `\n${clean}`;
  }

  async function flush(): Promise<void> {
    if (line !== '') await put(`${rest(line)}\n`);
    else if (shown !== '') await put('\n');
    line = '';
    shown = '';
  }

  return {
    async write(bytes: Buffer): Promise<void> {
      if (isRaw) return put(bytes);
      const lines = (line + decoder.write(bytes)).split('\n');
      line = lines.pop() ?? '';
      let text = '';
      for (const each of lines) {
        text += `${rest(each)}\n`;
        shown = '';
      }
      await put(text);
      if (line.length > MAX_LINE) await flush();
    },
    /** A line of our own. */
    async note(text: string): Promise<void> {
      if (isRaw) return;
      await flush();
      await put(`${text}\n`);
    },
    /** Shows a line that has no end yet, such as a prompt. */
    showPartial(): void {
      if (isRaw || line === '') return;
      output.write(rest(line));
      shown = cleanLine(line);
    },
    async end(): Promise<void> {
      if (isRaw) return;
      line += decoder.end();
      await flush();
    },
  };
}

const cleanLine = (line: string): string =>
  asShown(line.replace(/\r$/, '')).split('\t').map(escapeText).join('\t');
