/** One line that is not shown: typed at a terminal, or from a pipe. */
import { ShellServerError } from '../base/errors.ts';
import type { CommandContext } from './context.ts';

const ENTER = /[\r\n]/;
/** Ctrl-C and Ctrl-D: in raw mode they are characters. */
const LEAVE = new Set(['\u0003', '\u0004']);
const MAX_CHARACTERS = 8192;

export async function readSecret(
  { input, output, interrupted }: Pick<CommandContext, 'input' | 'output' | 'interrupted'>,
  prompt: string,
): Promise<string> {
  const isTyped = input.isTTY;
  if (isTyped) {
    output.write(prompt);
    input.setRawMode(true);
  }
  input.setEncoding('utf8');
  try {
    return await readLine(input, interrupted);
  } finally {
    if (isTyped) {
      input.setRawMode(false);
      output.write('\n');
    }
    input.pause();
  }
}

function readLine(input: NodeJS.ReadStream, interrupted: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    let line = '';
    const leave = (): void => {
      input.off('data', take);
      input.off('end', finish);
      interrupted.removeEventListener('abort', cancel);
    };
    const finish = (): void => {
      leave();
      resolve(line);
    };
    const cancel = (): void => {
      leave();
      reject(new ShellServerError('PARAM_002', 'Nothing was answered.'));
    };
    const take = (text: string): void => {
      for (const character of text) {
        if (input.isTTY && LEAVE.has(character)) return cancel();
        if (ENTER.test(character)) return finish();
        if (input.isTTY && (character === '\u007f' || character === '\b')) line = line.slice(0, -1);
        else line += character;
      }
      if (line.length > MAX_CHARACTERS) cancel();
    };
    input.on('data', take);
    input.once('end', finish);
    interrupted.addEventListener('abort', cancel, { once: true });
  });
}
