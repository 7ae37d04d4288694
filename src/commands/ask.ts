/** Questions to the person at the terminal, or answers from a pipe. */
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

export type Asker = ReturnType<typeof createAsker>;

export function createAsker({ input, write }: { readonly input: Readable; write(text: string): void }) {
  let lines: AsyncIterator<string> | undefined;
  let reader: ReturnType<typeof createInterface> | undefined;

  /** Empty where nobody types any more. */
  async function read(question: string): Promise<string> {
    write(`${question}: `);
    reader ??= createInterface({ input });
    lines ??= reader[Symbol.asyncIterator]();
    const { value, done } = await lines.next();
    if (done === true) write('\n');
    return done === true ? '' : value;
  }

  return {
    say: write,
    /** What is typed, or the usual answer for an empty line and where nobody types any more. */
    async ask(question: string, usual: string): Promise<string> {
      const typed = await read(`${question} [${usual}]`);
      return typed.trim() === '' ? usual : typed;
    },
    /** No, unless it is said. */
    confirm: async (question: string) => /^\s*y(?:es)?\s*$/i.test(await read(`${question} [y/N]`)),
    close: () => reader?.close(),
  };
}
