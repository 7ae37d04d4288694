/**
 * A command as a tree, in bounded time. The parser is linear on what people write, but quadratic in braces that are
 * not closed, and it cannot be interrupted; so what parsing would cost is estimated first.
 */
import { forEachChild, type ParsedScript, parse, type SyntaxNode } from 'unbash';

export type Parsed =
  | { readonly kind: 'parsed'; readonly script: ParsedScript }
  | { readonly kind: 'too-complex'; readonly reason: string };

/** Units of about 20 ns at worst (measured): a hostile text takes at most a second, an ordinary one a millisecond. */
const BUDGET = 40_000_000;
/** Looks for raw text inside of a long command; each costs one parse of what stands before it. */
const PROBES = 32;
/** A quoted text that is shorter than this cannot hold many braces. */
const LONG_QUOTE = 1024;

export function parseBounded(text: string): Parsed {
  if (text.includes('\0')) return { kind: 'too-complex', reason: 'it contains a NUL character' };
  if (!isAffordable(text)) {
    return { kind: 'too-complex', reason: 'it is too long and too deeply nested to be judged' };
  }
  try {
    return { kind: 'parsed', script: parse(text) };
  } catch {
    return { kind: 'too-complex', reason: 'it is nested too deeply to be judged' };
  }
}

/** The first complaint of the parser about this script, not about those inside it. */
export function syntaxProblem(script: ParsedScript): string | undefined {
  return script.errors?.[0]?.message;
}

/** Text in which braces mean nothing: a body of a here-document, or what stands in single quotes. */
interface RawRegion {
  readonly from: number;
  readonly to: number;
  /** Expansions in it are still parsed, of which `$[` is costly. */
  readonly expands: boolean;
}

function isAffordable(text: string): boolean {
  if (costOf(text, []) <= BUDGET) return true;
  return costOf(text, findRaw(text)) <= BUDGET;
}

function costOf(text: string, regions: readonly RawRegion[]): number {
  const region = createRegionFinder(regions);
  let cost = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x7b) {
      if (region(at) === undefined) cost += text.length;
    } else if (code === 0x5b && text[at - 1] === '$' && region(at)?.expands !== false) {
      cost += 2 * text.length;
    } else if (code === 0x3c && text[at - 1] === '<' && region(at) === undefined) {
      cost += text.length / 8;
    }
  }
  return cost;
}

/** Regions come in order, and positions are asked in order. */
function createRegionFinder(regions: readonly RawRegion[]): (at: number) => RawRegion | undefined {
  let index = 0;
  return (at) => {
    while ((regions[index]?.to ?? Number.POSITIVE_INFINITY) <= at) index += 1;
    const region = regions[index];
    return region !== undefined && region.from <= at ? region : undefined;
  };
}

/**
 * Whether a quote or `<<` opens raw text depends on everything before it, which the parser itself is asked: it reads
 * from left to right, so what follows cannot change its answer.
 */
function findRaw(text: string): RawRegion[] {
  const regions: RawRegion[] = [];
  const candidate = /<<|'/g;
  for (let probes = 0; probes < PROBES; ) {
    const found = candidate.exec(text);
    if (found === null) break;
    const at = found.index;
    const end = found[0] === "'" ? text.indexOf("'", at + 1) : text.indexOf('\n', at);
    if (end === -1) break;
    if (found[0] === "'" && end - at < LONG_QUOTE) {
      // Perhaps it closes another one; both are too short to matter, or the next candidate begins at its end.
      continue;
    }
    if (costOf(text.slice(0, found[0] === "'" ? at : end), regions) > BUDGET) break;
    probes += 1;
    const region = found[0] === "'" ? quotedRegion(text, at, end) : hereDocRegion(text, end);
    if (region === undefined) continue;
    regions.push(region);
    candidate.lastIndex = region.to;
  }
  return regions;
}

function quotedRegion(text: string, at: number, end: number): RawRegion | undefined {
  const probe = tryParse(`${text.slice(0, at)}'x'`);
  if (probe === undefined) return undefined;
  const isQuote = nodesIn(probe, CLOSED).some(
    (node) =>
      node.type === 'Word' &&
      node.pos <= at &&
      node.end > at &&
      node.parts?.some((part) => part.type === 'SingleQuoted' && part.pos === at),
  );
  return isQuote ? { from: at + 1, to: end, expands: false } : undefined;
}

/** `end` is that of the line with `<<`: its body begins behind it, if it is a here-document that waits for one. */
function hereDocRegion(text: string, end: number): RawRegion | undefined {
  if (text[end - 1] === '\\') return undefined;
  const probe = tryParse(text.slice(0, end + 1));
  if (probe === undefined) return undefined;
  const [first, ...more] = nodesIn(probe, CLOSED)
    .filter((node) => node.type === 'HereDoc')
    .filter(({ closing, body }) => closing === undefined && body.pos === end + 1);
  if (more.length > 0 || first?.delimiter === undefined) return undefined;
  const { value, quoted } = first.delimiter;
  const from = end + 1;
  for (let line = from; line < text.length; ) {
    const next = text.indexOf('\n', line);
    const stop = next === -1 ? text.length : next;
    const content = text.slice(line, stop);
    if ((first.operator === '<<-' ? content.replace(/^\t+/, '') : content) === value) {
      return { from, to: line, expands: !quoted };
    }
    line = stop + 1;
  }
  return { from, to: text.length, expands: !quoted };
}

/** Undefined where the text ends inside of a quote or a substitution; an open `if` or `{` does no harm. */
function tryParse(text: string): ParsedScript | undefined {
  const script = parse(text);
  return script.errors?.every(({ message }) => message.startsWith("expected '")) === false
    ? undefined
    : script;
}

/** Words are parsed only when they are looked at. */
const CLOSED = ['Word', 'HereDocBody'] as const;

/** The node and all that is in it, but for what is inside of these. */
export function nodesIn(
  node: SyntaxNode,
  closed: readonly SyntaxNode['type'][],
  found: SyntaxNode[] = [],
): SyntaxNode[] {
  found.push(node);
  if (!closed.includes(node.type)) forEachChild(node, (child) => void nodesIn(child, closed, found));
  return found;
}
