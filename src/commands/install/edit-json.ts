/**
 * Changes in JSON with comments, as editors and most clients keep their settings. Only what is meant is touched: a
 * comment behind a value stays behind it, and no neighbour is laid out anew.
 */
import {
  createScanner,
  findNodeAtLocation,
  type Node,
  type ParseError,
  parse,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { succeeds } from '../../base/attempt.ts';
import { isObject } from '../../base/objects.ts';
import { EditRefused, type Table } from './table.ts';

export function readJson(text: string): Table {
  const errors: ParseError[] = [];
  const body = withoutMark(text);
  if (body.trim() === '') return {};
  const value: unknown = parse(body, errors, OPTIONS);
  const [first] = errors;
  if (first !== undefined) {
    const line = body.slice(0, first.offset).split('\n').length;
    throw new EditRefused(`it is not valid JSON: ${printParseErrorCode(first.error)} in line ${line}`);
  }
  if (!isObject(value)) throw new EditRefused('it does not hold an object');
  return value;
}

/** Sets the fields of an object one by one, so that others in it stay; undefined removes the object. */
export function editJson(text: string, path: readonly string[], fields: Table | undefined): string {
  const mark = text.slice(0, text.length - withoutMark(text).length);
  const before = withoutMark(text);
  let body = before.trim() === '' ? '{}\n' : before;
  const isStrict = isStrictJson(body);
  if (fields === undefined) body = remove(body, path);
  else if (nodeAt(body, path) === undefined) body = set(body, path, fields);
  else for (const [name, value] of Object.entries(fields)) body = set(body, [...path, name], value);
  // A client that takes no comments takes no trailing commas either.
  if (isStrict && !isStrictJson(body)) throw new EditRefused('the change would make it invalid JSON');
  return mark + body;
}

/** Of the parser's tokens; it has them as an enumeration that is gone when it is compiled. */
const Kind = {
  CommaToken: 5,
  LineCommentTrivia: 12,
  BlockCommentTrivia: 13,
  LineBreakTrivia: 14,
  Trivia: 15,
  EOF: 17,
} as const;

const OPTIONS = { allowTrailingComma: true, disallowComments: false };

function nodeAt(text: string, path: readonly string[]): Node | undefined {
  const root = parseTree(text, [], OPTIONS);
  return root === undefined ? undefined : findNodeAtLocation(root, [...path]);
}

function set(text: string, path: readonly string[], value: unknown): string {
  const node = nodeAt(text, path);
  if (node !== undefined) {
    if (JSON.stringify(parse(text.slice(node.offset, endOf(node)))) === JSON.stringify(value)) return text;
    return splice(text, node.offset, endOf(node), layOut(value, text, indentAt(text, node.offset)));
  }
  const parent = path.slice(0, -1);
  const object = nodeAt(text, parent);
  const name = path.at(-1) ?? '';
  // An object that is not there comes with what belongs in it.
  if (object === undefined) return set(text, parent, { [name]: value });
  return insert(text, object, name, value);
}

function insert(text: string, object: Node, name: string, value: unknown): string {
  const eol = eolOf(text);
  const outer = indentAt(text, object.offset);
  const inner = outer + unitOf(text);
  const close = endOf(object) - 1;
  const last = object.children?.at(-1);
  const isFlat = !text.slice(object.offset, close).includes('\n');
  if (last === undefined) {
    if (isFlat && isMinified(text)) return splice(text, close, close, pair(name, JSON.stringify(value), ''));
    const property = pair(name, layOut(value, text, inner), ' ');
    const start = text.slice(0, close).trimEnd().length;
    return splice(text, start, close, `${eol}${inner}${property}${eol}${outer}`);
  }
  const { comma, lineEnd } = after(text, endOf(last), close);
  if (isFlat) {
    const gap = isMinified(text) ? '' : ' ';
    return splice(text, endOf(last), endOf(last), `,${gap}${pair(name, JSON.stringify(value), gap)}`);
  }
  const indent = startsLine(text, last.offset) ? indentAt(text, last.offset) : inner;
  const property = `${eol}${indent}${pair(name, layOut(value, text, indent), ' ')}`;
  if (comma !== undefined) return splice(text, lineEnd, lineEnd, `${property},`);
  return splice(splice(text, lineEnd, lineEnd, property), endOf(last), endOf(last), ',');
}

function remove(text: string, path: readonly string[]): string {
  const property = nodeAt(text, path)?.parent;
  const siblings = property?.parent?.children;
  if (property === undefined || siblings === undefined) return text;
  const index = siblings.indexOf(property);
  const close = endOf(property.parent ?? property) - 1;
  const { comma } = after(text, endOf(property), close);
  const end = comma === undefined ? endOf(property) : comma + 1;
  const lineStart = text.lastIndexOf('\n', property.offset - 1) + 1;
  const hasOwnLine = text.slice(lineStart, property.offset).trim() === '';
  const rest = /^[ \t]*\r?\n/.exec(text.slice(end))?.[0];
  const shorter =
    hasOwnLine && rest !== undefined
      ? splice(text, lineStart, end + rest.length, '')
      : splice(text, text.slice(0, property.offset).replace(/[ \t]+$/, '').length, end, '');
  const previous = siblings[index - 1];
  // The one before it is the last now.
  if (previous === undefined || index < siblings.length - 1 || comma !== undefined) return shorter;
  const left = after(shorter, endOf(previous), shorter.length).comma;
  return left === undefined ? shorter : splice(shorter, left, left + 1, '');
}

/** The comma behind a value, and where its line ends: comments on it are still that value's. */
function after(text: string, from: number, to: number): { comma: number | undefined; lineEnd: number } {
  const scanner = createScanner(text, false);
  scanner.setPosition(from);
  let comma: number | undefined;
  let lineEnd = from;
  for (;;) {
    const kind: number = scanner.scan();
    const at = scanner.getTokenOffset();
    if (kind === Kind.EOF || at >= to) break;
    if (kind === Kind.CommaToken) {
      if (comma !== undefined) break;
      comma = at;
    } else if (kind === Kind.LineBreakTrivia) {
      if (comma !== undefined || !isCommaNext(text, scanner.getPosition(), to)) break;
    } else if (kind !== Kind.Trivia && kind !== Kind.LineCommentTrivia && kind !== Kind.BlockCommentTrivia)
      break;
    if (kind !== Kind.Trivia) lineEnd = scanner.getPosition();
  }
  return { comma, lineEnd };
}

/** Some write the comma at the beginning of the next line. */
function isCommaNext(text: string, from: number, to: number): boolean {
  return /^\s*,/.test(text.slice(from, to));
}

const endOf = (node: Node): number => node.offset + node.length;

const splice = (text: string, from: number, to: number, content: string): string =>
  text.slice(0, from) + content + text.slice(to);

const pair = (name: string, value: string, gap: string): string => `${JSON.stringify(name)}:${gap}${value}`;

/** As the file is written already. */
function layOut(value: unknown, text: string, indent: string): string {
  if (isMinified(text)) return JSON.stringify(value);
  return JSON.stringify(value, null, unitOf(text)).replaceAll('\n', `${eolOf(text)}${indent}`);
}

const isMinified = (text: string): boolean => !text.trim().includes('\n') && text.trim() !== '{}';
const eolOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');
const unitOf = (text: string): string => /\n([ \t]+)["/]/.exec(text)?.[1] ?? '  ';

function indentAt(text: string, offset: number): string {
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(lineStart, offset))?.[0] ?? '';
}

function startsLine(text: string, offset: number): boolean {
  return text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset).trim() === '';
}

const isStrictJson = (text: string): boolean => succeeds(() => JSON.parse(text));

/** Windows editors put a byte order mark first. */
const withoutMark = (text: string): string => text.replace(/^\ufeff/, '');
