import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { findKeyLines } from './key-lines.ts';

/** Every path that is asked for, with the line it was found on. */
function linesOf(toml: string, paths: readonly (readonly (string | number)[])[]) {
  // The reader is only ever given what smol-toml accepts.
  parse(toml);
  const lineOf = findKeyLines(toml);
  return Object.fromEntries(paths.map((path) => [path.join('/'), lineOf(path)]));
}

describe('findKeyLines', () => {
  it('finds keys of the top and of tables', () => {
    const toml = '# comment\na = 1\n\n[security]\n  b = "x" # [not.a.table]\n\n[limits] # limits\nb=2\n';
    expect(linesOf(toml, [['a'], ['security'], ['security', 'b'], ['limits'], ['limits', 'b']])).toEqual({
      a: 2,
      security: 4,
      'security/b': 5,
      limits: 7,
      'limits/b': 8,
    });
  });

  it('finds dotted and quoted keys, with the escapes and the dots that quotes may hold', () => {
    const toml = 'a . b.c = 1\n"q.r"."s\\u0041\\"]=" = 2\n\'l\\n\' = 3\n[ "t u" . v ]\n"" = 1\n1.2 = 3\n';
    const paths = [
      ['a'],
      ['a', 'b'],
      ['a', 'b', 'c'],
      ['q.r', 'sA"]='],
      ['l\\n'],
      ['t u', 'v', ''],
      ['t u', 'v', '1', '2'],
    ];
    expect(linesOf(toml, paths)).toEqual({
      a: 1,
      'a/b': 1,
      'a/b/c': 1,
      'q.r/sA"]=': 2,
      'l\\n': 3,
      't u/v/': 5,
      't u/v/1/2': 6,
    });
  });

  it('is not misled by what looks like keys inside multi-line strings', () => {
    const toml = [
      'a = """',
      'b = 1',
      '[c]',
      'escaped \\""" quotes',
      'ends in quotes"""""',
      "d = '''",
      "b = 2 \\'",
      "two more'''''",
      'e = """"""',
      "f = ''",
      'b = 3',
    ].join('\n');
    expect(linesOf(toml, [['a'], ['d'], ['e'], ['f'], ['b'], ['c']])).toEqual({
      a: 1,
      d: 6,
      e: 9,
      f: 10,
      b: 11,
      c: undefined,
    });
  });

  it('is not misled by brackets, hashes and equal signs inside strings', () => {
    const toml = 'a = "] # \\" b = 1"\nb = \'# "\'\nc = ["]", "#", \'[\']\nd = { e = "}", f = "," }\ng = 1\n';
    expect(linesOf(toml, [['a'], ['b'], ['c'], ['c', 2], ['d', 'f'], ['g']])).toEqual({
      a: 1,
      b: 2,
      c: 3,
      'c/2': 3,
      'd/f': 4,
      g: 5,
    });
  });

  it('gives the items of a list that runs over several lines their own lines', () => {
    const toml =
      'list = [ # first\n  "a", # ] not yet\n\n  [1,\n   2],\n  { x = 1, y.z = [\n 3 ] },\n]\nafter = 1\n';
    const paths = [['list'], ['list', 0], ['list', 1], ['list', 1, 1], ['list', 2, 'y', 'z', 0], ['after']];
    expect(linesOf(toml, paths)).toEqual({
      list: 1,
      'list/0': 2,
      'list/1': 4,
      'list/1/1': 5,
      'list/2/y/z/0': 7,
      after: 9,
    });
  });

  it('counts the tables of a list of tables, and knows which of them a later table belongs to', () => {
    const toml = '[[a]]\nx = 1\n[a.b]\ny = 1\n[[a]]\nx = 2\n[[a.c]]\nz = 1\n[[a.c]]\nz = 2\n[a.c.d]\nw = 1\n';
    const paths = [
      ['a'],
      ['a', 0, 'x'],
      ['a', 0, 'b', 'y'],
      ['a', 1],
      ['a', 1, 'x'],
      ['a', 1, 'c', 1, 'z'],
      ['a', 1, 'c', 1, 'd', 'w'],
    ];
    expect(linesOf(toml, paths)).toEqual({
      a: 1,
      'a/0/x': 2,
      'a/0/b/y': 4,
      'a/1': 5,
      'a/1/x': 6,
      'a/1/c/1/z': 10,
      'a/1/c/1/d/w': 12,
    });
  });

  it('counts the lines of files with CRLF and with a byte order mark', () => {
    const toml = '\uFEFFa = 1\r\n\r\n[b]\r\nc = """\r\nx\r\n"""\r\nd = 1979-05-27 07:32:00\r\ne = 1';
    expect(linesOf(toml, [['a'], ['b'], ['b', 'c'], ['b', 'd'], ['b', 'e']])).toEqual({
      a: 1,
      b: 3,
      'b/c': 4,
      'b/d': 7,
      'b/e': 8,
    });
  });

  it('answers with the nearest table around a path that is not written', () => {
    expect(linesOf('a = 1\n[b]\nc = [1]', [['b', 'x'], ['b', 'c', 4], ['z'], []])).toEqual({
      'b/x': 2,
      'b/c/4': 3,
      z: undefined,
      '': undefined,
    });
  });

  it.each([
    '}',
    ']',
    '=',
    '"',
    "'''",
    '[',
    '[[',
    'a',
    'a = [',
    'a = {',
    'a = [}',
    '.',
    '[a',
    'a = "\\',
    ',,,',
    '\0',
  ])('ends on the broken document %j', (toml) => {
    expect(findKeyLines(toml)([])).toBeUndefined();
  });
});
