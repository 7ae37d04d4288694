/**
 * What is typed into a program that is no shell, under a list. It may read only a part of it, and leave the rest to the
 * shell: so text comes line by line, each end of a line is judged as what the shell would run, and other keys come apart
 * from it. What the program itself makes of it is not judged.
 */
import { QUIET } from './earlier-lines.ts';
import { PASTE_BEGINS, PASTE_ENDS } from './input.ts';
import { isOneKey, isPlain } from './line-keys.ts';
import type { InputFacts } from './protocol.ts';
import { refuse } from './refusals.ts';
import { type Decision, endsOf, MAX_LEFT, mayExpand } from './typing.ts';

type ProgramFacts = Pick<InputFacts, 'lineKeys' | 'expandsHistory'>;

/** Of a line that was typed in parts; undefined where it is not certain. */
type Begun = string | undefined;

export type Passing = ReturnType<typeof createPassing>;

export function createPassing() {
  let begun: Begun = '';
  return {
    decide: (bytes: Uint8Array, program: ProgramFacts): Decision => decide(bytes, program, begun),
    /** It was typed at the program. */
    commit(bytes: Uint8Array, { lineKeys }: ProgramFacts): void {
      const { text, isEntered } = readInput(bytes);
      if (isEntered || isQuiet(bytes)) begun = '';
      // The kernel keeps a line until it ends; other programs have read what they were sent.
      else if (lineKeys === undefined)
        begun = text === undefined ? '' : ((begun ?? '') + text).slice(-MAX_LEFT);
      else begun = text === undefined || begun === undefined ? undefined : begun + text;
    },
    /** The shell has read it. */
    reset(): void {
      begun = '';
    },
    /** Another client may have typed. */
    forget(): void {
      begun = undefined;
    },
  };
}

function decide(bytes: Uint8Array, program: ProgramFacts, typed: Begun): Decision {
  const begun = typed ?? (program.lineKeys === undefined ? '' : undefined);
  const { text, isEntered } = readInput(bytes);
  // A partial line is handed over by Ctrl-D as by Enter.
  const isHandedOver = isEntered || (bytes.includes(EOT) && begun !== '');
  if (isQuiet(bytes) && !isHandedOver) return { kind: 'open' };
  if (program.lineKeys === 'changed') return refuse('keys');
  if (text === undefined && !isQuiet(bytes))
    return isOneKey(bytes) && (!isEntered || begun === '') ? { kind: 'open' } : refuse('apart');
  // Bytes of other characters may be keys of a line editor.
  if (!isHandedOver && isPlain(bytes)) return { kind: 'open' };
  if (begun === undefined) return refuse('hidden');
  const line = begun + (text ?? '');
  // It would go on in the next line.
  if (/(?:^|[^\\])(?:\\\\)*\\$/.test(line)) return refuse('apart');
  const characters = Array.from(line);
  if (characters.length > MAX_LEFT) return refuse('long');
  if (mayExpand(line, program)) return refuse('history');
  return { kind: 'left', texts: endsOf(characters), isText: true };
}

const EOT = 0x04;

const isQuiet = (bytes: Uint8Array): boolean => bytes.every((byte) => QUIET.has(byte));

/** One line, or a part of it, typed or pasted; undefined where there are other keys. */
function readInput(bytes: Uint8Array): { readonly text: string | undefined; readonly isEntered: boolean } {
  const input = Buffer.from(bytes).toString('utf8');
  const isEntered = /[\r\n]$/.test(input);
  const line = isEntered ? input.slice(0, -1) : input;
  const isPasted = line.startsWith(PASTE_BEGINS) && line.endsWith(PASTE_ENDS);
  const text = isPasted ? line.slice(PASTE_BEGINS.length, -PASTE_ENDS.length) : line;
  return { text: /[\p{Cc}\ufffd]/u.test(text) ? undefined : text, isEntered };
}
