/**
 * Checks sources against a table of rules: which module may import which, through which entry point, and which may use what.
 * Pure: sources in, sentences about what is wrong out. The table itself is in test/architecture.test.ts.
 */
import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import { parseAst } from 'vitest/node';

export interface Rules {
  /** Modules from top to bottom; a module is a folder of src or a file in it. It imports only from rows below its own. */
  readonly layers: readonly (readonly string[])[];
  /** The files through which others enter a module; 'any' for a module of small things that are used one by one. */
  readonly entryPoints: Readonly<Record<string, readonly string[] | 'any'>>;
  readonly only: readonly Ownership[];
  /** Below `folder` nothing may be reached, however indirectly, that is in `never`. */
  readonly pure: { readonly folder: string; readonly never: readonly string[] };
  readonly maxLines: number;
}

/** Who may import a package (`name`, `scope/*`) or a module (`module/*`), or use a global (`process.env`, `console`). */
export interface Ownership {
  readonly use: readonly string[];
  /** Beginnings of paths in src. */
  readonly by: readonly string[];
  readonly why: string;
  /** A type of it may be imported by anybody. */
  readonly typesAreFree?: true;
}

/** Path in src -> text. */
export type Sources = Readonly<Record<string, string>>;

export function findProblems(sources: Sources, rules: Rules): string[] {
  const files = Object.entries(sources).map(([path, text]) => readFacts(path, text));
  return [
    ...files.flatMap((file) => [
      ...lengthProblems(file, rules),
      ...layerProblems(file, rules),
      ...ownershipProblems(file, rules),
    ]),
    ...purityProblems(files, rules),
    ...cycles(files),
  ];
}

interface Import {
  /** A path in src, a package, or `node:…`. */
  readonly target: string;
  readonly isOurs: boolean;
  readonly isType: boolean;
}

interface Facts {
  readonly path: string;
  readonly lines: number;
  readonly imports: readonly Import[];
  /** `process.env`, `console`, …; `process` where it is taken apart and no longer can be followed. */
  readonly globals: ReadonlySet<string>;
}

function lengthProblems({ path, lines }: Facts, { maxLines }: Rules): string[] {
  return lines > maxLines ? [`${path} has ${lines} lines; at most ${maxLines}`] : [];
}

function layerProblems({ path, imports }: Facts, { layers, entryPoints }: Rules): string[] {
  const rowOf = (module: string) => layers.findIndex((row) => row.includes(module));
  const module = moduleOf(path);
  if (rowOf(module) === -1) return [`${path}: ${module} has no place in the layers`];
  return imports
    .filter(({ isOurs, target }) => isOurs && moduleOf(target) !== module)
    .flatMap(({ target }) => {
      const other = moduleOf(target);
      if (other === '..') return [`${path} imports ${target}, which is outside of src`];
      if (rowOf(other) <= rowOf(module))
        return [`${path} imports ${target}: ${other} does not lie below ${module}`];
      const open = entryPoints[other] ?? [];
      return open === 'any' || open.includes(target)
        ? []
        : [`${path} imports ${target}, which is not an entry point`];
    });
}

function ownershipProblems({ path, imports, globals }: Facts, { only }: Rules): string[] {
  return only.flatMap(({ use, by, why, typesAreFree }) => {
    if (by.some((beginning) => path.startsWith(beginning))) return [];
    const used = imports.filter(({ isType }) => !(typesAreFree && isType));
    return [...used.map(({ target }) => target), ...globals]
      .filter((name) => use.some((pattern) => matches(name, pattern)))
      .map((name) => `${path} uses ${name}: ${why}`);
  });
}

function purityProblems(files: readonly Facts[], { pure }: Rules): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const seen = new Set<string>();
  const visit = (path: string, way: readonly string[]): string[] => {
    if (seen.has(path)) return [];
    seen.add(path);
    return (byPath.get(path)?.imports ?? [])
      .filter(({ isType }) => !isType)
      .flatMap(({ target, isOurs }) => {
        if (isOurs) return visit(target, [...way, target]);
        return pure.never.includes(target)
          ? [`${pure.folder} is not pure: ${[...way, target].join(' -> ')}`]
          : [];
      });
  };
  return files.filter(({ path }) => path.startsWith(pure.folder)).flatMap(({ path }) => visit(path, [path]));
}

/** A cycle of values can find a module half loaded; one of types means that two files are one. */
function cycles(files: readonly Facts[]): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  const visit = (path: string, way: readonly string[]): string[] => {
    if (way.includes(path)) return [`cycle: ${[...way.slice(way.indexOf(path)), path].join(' -> ')}`];
    if (done.has(path)) return [];
    const found = (byPath.get(path)?.imports ?? [])
      .filter(({ isOurs }) => isOurs)
      .flatMap(({ target }) => visit(target, [...way, path]));
    done.add(path);
    return found;
  };
  return files.flatMap(({ path }) => visit(path, []));
}

function moduleOf(path: string): string {
  return (path.split('/')[0] ?? '').replace(/\.ts$/, '');
}

function matches(name: string, pattern: string): boolean {
  return pattern.endsWith('/*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

function readFacts(path: string, text: string): Facts {
  const imports: Import[] = [];
  const globals = new Set<string>();
  walk(parseAst(text, { lang: path.endsWith('x') ? 'tsx' : 'ts' }), (node) => {
    const found = importOf(node);
    if (found) imports.push(resolveImport(path, found));
    const global = globalOf(node);
    if (global) globals.add(global);
  });
  return { path, lines: text.split('\n').length - 1, imports, globals };
}

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

function walk(value: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) walk(item, visit);
  } else if (isNode(value)) {
    visit(value);
    for (const child of Object.values(value)) walk(child, visit);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** `import … from`, `export … from`, `import(…)` and `import('…').Type`. */
function importOf({
  type,
  source,
  importKind,
  exportKind,
}: Node): { specifier: string; isType: boolean } | undefined {
  if (!isNode(source) || typeof source.value !== 'string') return undefined;
  const isType = type === 'TSImportType' || importKind === 'type' || exportKind === 'type';
  return { specifier: source.value, isType };
}

function resolveImport(path: string, { specifier, isType }: { specifier: string; isType: boolean }): Import {
  const isOurs = specifier.startsWith('.');
  if (isOurs) return { target: posix.join(posix.dirname(path), specifier), isOurs, isType };
  const target = isBuiltin(specifier) && !specifier.startsWith('node:') ? `node:${specifier}` : specifier;
  return { target, isOurs, isType };
}

function globalOf(node: Node): string | undefined {
  if (node.type === 'VariableDeclarator' && isProcess(node.init)) return 'process';
  if (node.type !== 'MemberExpression') return undefined;
  if (isNamed(node.object, 'console')) return 'console';
  if (!isProcess(node.object)) return undefined;
  return node.computed === false && isNode(node.property)
    ? `process.${String(node.property.name)}`
    : 'process';
}

function isProcess(value: unknown): boolean {
  if (isNamed(value, 'process')) return true;
  return (
    isNode(value) &&
    value.type === 'MemberExpression' &&
    isNamed(value.property, 'process') &&
    isNamed(value.object, 'globalThis')
  );
}

function isNamed(value: unknown, name: string): boolean {
  return isNode(value) && value.type === 'Identifier' && value.name === name;
}
