/** Questions to the person at the terminal, or answers from a pipe. */
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

export interface Asker {
  say(text: string): void;
  /** What is typed, or the usual answer for an empty line and where nobody types any more. */
  ask(question: string, usual: string): Promise<string>;
  /** No, unless it is said. */
  confirm(question: string): Promise<boolean>;
  close(): void;
}

export function createAsker(input: Readable, output: { write(text: string): unknown }): Asker {
  let lines: AsyncIterator<string> | undefined;
  let reader: ReturnType<typeof createInterface> | undefined;

  async function read(): Promise<string | undefined> {
    reader ??= createInterface({ input });
    lines ??= reader[Symbol.asyncIterator]();
    const { value, done } = await lines.next();
    return done === true ? undefined : value;
  }

  return {
    say: (text) => void output.write(text),
    async ask(question, usual) {
      output.write(`${question} [${usual}]: `);
      const typed = await read();
      if (typed === undefined) output.write('\n');
      return typed === undefined || typed.trim() === '' ? usual : typed;
    },
    async confirm(question) {
      output.write(`${question} [y/N]: `);
      const typed = await read();
      if (typed === undefined) output.write('\n');
      return /^\s*y(?:es)?\s*$/i.test(typed ?? '');
    },
    close: () => reader?.close(),
  };
}
