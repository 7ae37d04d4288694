/** Brace expansion of words without quotes or other expansions, as bash does it: `src/{a,b}`, `{1..3}`. */

/** More words than this are a sequence that nobody needs to see one by one. */
const MAX_WORDS = 64;

/** Undefined where the word holds more than braces, or becomes too many words. */
export function expandBraces(text: string): string[] | undefined {
  if (!/^[\w./,{}@%+=:~^-]+$/.test(text)) return undefined;
  const words = expand(text, 0);
  if (words === undefined || words.length > MAX_WORDS) return undefined;
  // A word that became empty without quotes is dropped.
  return words.filter((word) => word !== '');
}

function expand(text: string, depth: number): string[] | undefined {
  if (depth > 8) return undefined;
  const group = findGroup(text);
  if (group === undefined) return [text];
  const { open, close, commas } = group;
  const inner = text.slice(open + 1, close);
  const choices = commas.length > 0 ? splitAt(text, open, close, commas) : sequence(inner);
  if (choices === undefined) return undefined;
  const rest = expand(text.slice(close + 1), depth + 1);
  if (rest === undefined) return undefined;
  const words: string[] = [];
  for (const choice of choices) {
    const middles = expand(choice, depth + 1);
    if (middles === undefined || middles.length * rest.length + words.length > MAX_WORDS) return undefined;
    for (const middle of middles) for (const end of rest) words.push(text.slice(0, open) + middle + end);
  }
  return words;
}

interface Group {
  readonly open: number;
  readonly close: number;
  readonly commas: readonly number[];
}

/** The first group that expands: with a comma, or a sequence. `${` is none; such words do not come here. */
function findGroup(text: string): Group | undefined {
  for (let open = text.indexOf('{'); open !== -1; open = text.indexOf('{', open + 1)) {
    let depth = 0;
    const commas: number[] = [];
    for (let at = open; at < text.length; at++) {
      const character = text[at];
      if (character === '{') depth += 1;
      else if (character === '}') depth -= 1;
      else if (character === ',' && depth === 1) commas.push(at);
      if (depth !== 0) continue;
      if (commas.length > 0 || text.slice(open, at).includes('..')) return { open, close: at, commas };
      break;
    }
  }
  return undefined;
}

function splitAt(text: string, open: number, close: number, commas: readonly number[]): string[] {
  const edges = [open, ...commas, close];
  return edges.slice(0, -1).map((edge, index) => text.slice(edge + 1, edges[index + 1]));
}

/** Only plain numbers and letters; padding and steps are left to the shell. */
function sequence(inner: string): string[] | undefined {
  const numbers = /^(0|-?[1-9]\d{0,4})\.\.(0|-?[1-9]\d{0,4})$/.exec(inner);
  // From `Z` to `a` lie signs that mean something to the shell.
  const letters = /^([a-z])\.\.([a-z])$/.exec(inner) ?? /^([A-Z])\.\.([A-Z])$/.exec(inner);
  const [from, to] =
    numbers === null
      ? [letters?.[1]?.charCodeAt(0), letters?.[2]?.charCodeAt(0)]
      : [Number(numbers[1]), Number(numbers[2])];
  if (from === undefined || to === undefined || Math.abs(to - from) >= MAX_WORDS) return undefined;
  const step = from <= to ? 1 : -1;
  return Array.from({ length: Math.abs(to - from) + 1 }, (_, n) => {
    const value = from + n * step;
    return numbers === null ? String.fromCharCode(value) : String(value);
  });
}
