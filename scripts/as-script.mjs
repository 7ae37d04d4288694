/**
 * Turns a chunk, which esbuild writes as an ES module, into a script: a function that takes what it imports and returns
 * what it exports. Node 20 can give V8 a code cache for a script only (decision 0068). Bindings are copied when a chunk
 * is loaded, so that nothing may be assigned to an exported name afterwards; the build stops where that happens.
 * Positions stay what they are in the source map: line 1 is the banner, in the place of which imports come.
 */
import { parseAst } from 'rolldown/parseAst';

/** As long as what they replace. */
const LATER = '$later';
const META = '$importMeta';

export function asScript(text, path) {
  const { program, imports, exports, edits } = read(text, path);
  const later = findLaterAssignments(program);
  for (const { local } of exports)
    if (later.has(local)) throw new Error(`${path} assigns ${local}, which it exports, after it was loaded`);
  let code = '';
  let done = text.indexOf('\n');
  for (const { start, end, by } of edits.sort((a, b) => a.start - b.start)) {
    code += text.slice(done, start) + (by ?? blank(text.slice(start, end)));
    done = end;
  }
  code += text.slice(done);
  const kind = hasTopLevelAwait(program) ? 'async function' : 'function';
  const returned = exports.map(({ local, name }) => `${name}:${local}`).join(',');
  const header = `(${kind}(require,$load,${LATER},${META}){"use strict";${imports.join('')}`;
  const [statements, comment] = splitComment(code);
  return ascii(`${header}${statements.trimEnd()}\nreturn{${returned}}})\n${comment}`);
}

/** In memory a text with one other character takes twice as much. esbuild leaves those of regular expressions. */
const ascii = (text) =>
  text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Of the same length and lines. */
const blank = (text) => text.replace(/[^\n]/g, ' ');

/** The last line names the source map. */
function splitComment(text) {
  const at = text.lastIndexOf('\n//# sourceMappingURL=');
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function read(text, path) {
  const program = parseAst(text, { lang: 'js' }, path);
  const imports = [];
  const exports = [];
  const edits = [];
  for (const node of program.body) {
    if (node.type === 'ImportDeclaration') imports.push(importOf(node, path));
    else if (node.type === 'ExportNamedDeclaration' && !node.declaration && !node.source)
      for (const { local, exported } of node.specifiers)
        exports.push({ local: local.name, name: exported.name });
    else if (node.type.startsWith('Export')) throw new Error(`${path} exports in a way that is not known`);
    else continue;
    edits.push(node);
  }
  walk(program, (node) => {
    const { type, start } = node;
    if (type === 'ImportExpression') edits.push({ start, end: start + LATER.length, by: LATER });
    if (type === 'MetaProperty' && node.meta.name === 'import')
      edits.push({ start, end: node.end, by: META });
  });
  return { program, imports, exports, edits };
}

/** Node's own modules and CommonJS packages give themselves as their default. */
function importOf({ source, specifiers }, path) {
  const isChunk = source.value.startsWith('.');
  const from = isChunk
    ? `$load(${JSON.stringify(source.value)})`
    : `require(${JSON.stringify(source.value)})`;
  const named = specifiers.filter(({ type }) => type === 'ImportSpecifier');
  const whole = specifiers.filter(({ type }) => type !== 'ImportSpecifier');
  if (isChunk && whole.length > 0) throw new Error(`${path} imports a whole chunk`);
  if (specifiers.length === 0) return `${from};`;
  const names = named.map(({ imported, local }) => `${imported.name}:${local.name}`).join(',');
  return [
    ...whole.map(({ local }) => `const ${local.name}=${from};`),
    ...(named.length > 0 ? [`const{${names}}=${from};`] : []),
  ].join('');
}

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

function walk(node, visit, isLater = false) {
  if (node === null || typeof node !== 'object') return;
  if (typeof node.type === 'string') visit(node, isLater);
  const inside = isLater || FUNCTIONS.has(node.type);
  for (const child of Object.values(node)) walk(child, visit, inside);
}

/** Names that some function assigns to; one of its own may be among them, where the build stops without need. */
function findLaterAssignments(program) {
  const found = new Set();
  const note = (target) => {
    if (target?.type === 'Identifier') found.add(target.name);
    else if (target?.type !== 'MemberExpression')
      for (const child of Object.values(target ?? {})) if (typeof child === 'object') note(child);
  };
  walk(program, (node, isLater) => {
    if (!isLater) return;
    if (node.type === 'AssignmentExpression') note(node.left);
    if (node.type === 'UpdateExpression') note(node.argument);
    if (node.type === 'ForOfStatement' || node.type === 'ForInStatement')
      if (node.left.type !== 'VariableDeclaration') note(node.left);
  });
  return found;
}

function hasTopLevelAwait(program) {
  let isFound = false;
  walk(program, ({ type, await: isAwait }, isLater) => {
    if (!isLater && (type === 'AwaitExpression' || (type === 'ForOfStatement' && isAwait))) isFound = true;
  });
  return isFound;
}
