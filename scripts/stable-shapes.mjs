/**
 * Node 20 gives an object of its own hidden class to every evaluation of a literal that begins with a spread and goes on
 * (`{ ...a, b }`): each property is a new class, and each later access misses its cache. A literal that begins with
 * anything else is not concerned, and a spread of nothing is enough (decision 0066).
 */
import { parseAst } from 'rolldown/parseAst';

const NOTHING = '..."",';

/** The text of a module with the same lines, where no object literal has a hidden class of its own. */
export function withStableShapes(text, path) {
  if (!/\{\s*\.\.\./.test(text)) return text;
  const places = [];
  visit(parseAst(text, { lang: 'ts' }, path), places);
  let done = 0;
  let result = '';
  for (const at of places.sort((a, b) => a - b)) {
    result += text.slice(done, at) + NOTHING;
    done = at;
  }
  return result + text.slice(done);
}

function visit(node, places) {
  if (node === null || typeof node !== 'object') return;
  if (node.type === 'ObjectExpression' && node.properties.length > 1) {
    const [first] = node.properties;
    if (first.type === 'SpreadElement') places.push(first.start);
  }
  for (const child of Object.values(node)) visit(child, places);
}
