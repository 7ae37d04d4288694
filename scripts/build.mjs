/**
 * Bundles the server into dist/: cli.js and the chunks that it loads when they are wanted, which halves the start-up
 * time against node_modules.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, transform } from 'esbuild';
import { asScript } from './as-script.mjs';
import { makeCodeCaches } from './code-cache.mjs';
import { renderLegal } from './legal.mjs';
import { withStableShapes } from './stable-shapes.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));

const CLI = 'src/cli.ts';
/** What the server starts as processes or as a thread. They share nothing: a file less is a millisecond less. */
const PROGRAMS = {
  wrapper: 'src/executions/detached/wrapper.ts',
  'pty-host': 'src/terminals/host/pty-host.ts',
};
const THREAD = { 'search-worker': 'src/outputs/search-worker.ts' };
/** The operator's page runs in a browser: what is only there for a terminal or a chart is loaded when one is shown. */
const PAGE = {
  entryPoints: { page: 'src/web/page/main.tsx' },
  outdir: 'dist/page',
  chunkNames: '[name]-[hash]',
  platform: 'browser',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  minify: true,
  splitting: true,
  legalComments: 'external',
  metafile: true,
  plugins: [stylesByProperty()],
  banner: {},
};
const SPLIT = {
  outdir: 'dist',
  chunkNames: 'chunks/[name]-[hash]',
  splitting: true,
  sourcemap: 'linked',
  legalComments: 'external',
  metafile: true,
};
const DAY_MS = 86_400_000;

// CommonJS packages (commander) call require for Node's own modules, which an ES module does not have.
const require = "import{createRequire as $require}from'node:module';const require=$require(import.meta.url);";
const hasShebang = readFileSync(`${root}/${CLI}`, 'utf8').startsWith('#!');

/** The terminal on the page sets styles as an attribute, which a strict content policy forbids; the property is allowed. */
function stylesByProperty() {
  const [before, after] = [
    /(_addStyle\((\w+),(\w+)\)\{)\2\.setAttribute\("style",`[^`]*`\)\}/,
    '$1$2.style.cssText+=$3+";"}',
  ];
  return {
    name: 'styles-by-property',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]@xterm[\\/]xterm[\\/]lib[\\/]xterm\.mjs$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8');
        if (!before.test(text)) throw new Error('xterm.js sets styles in another way than it did');
        return { contents: text.replace(before, after) };
      });
    },
  };
}

/** Zod's messages in fifty languages: a quarter of a megabyte to be read at every start, and ours are in English. */
const oneLanguage = {
  name: 'one-language',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
    }));
  },
};

/** By Node's name of the processor: a compiler for it on any machine. A published package has a forker for each. */
const COMPILERS = {
  x64: 'x86_64-linux-gnu-gcc',
  arm64: 'aarch64-linux-gnu-gcc',
};

const { outputFiles, inputs } = await bundle();
const catalogue = await makeCatalogue();
const written = new Set();
const isNotice = ({ path }) => path.endsWith('.LEGAL.txt');
place(`${root}/dist/catalogue.json`, JSON.stringify(catalogue));
// Entries last and each file renamed into place: a server that starts meanwhile gets the old one or the new one.
for (const file of outputFiles.filter((each) => !isNotice(each)).sort((a, b) => depth(b) - depth(a))) {
  place(file.path, file.contents);
  written.add(file.path);
}
const notices = outputFiles.filter(isNotice).map(({ text }) => text);
place(`${root}/dist/LEGAL.txt`, renderLegal(root, inputs, notices));
place(`${root}/dist/page/index.html`, readFileSync(`${root}/src/web/page/index.html`));
written.add(`${root}/dist/page/index.html`);
buildForker();
cpSync(`${root}/src/terminals/shell-integration`, `${root}/dist/shell-integration`, { recursive: true });
chmodSync(`${root}/dist/cli.js`, 0o755);
// The manual page comes from the program's own definitions; npm puts it where man finds it.
place(`${root}/dist/mcp-shell-server.1`, execFileSync(process.execPath, [`${root}/dist/cli.js`, 'man']));
removeOldChunks(process.argv.includes('--exact') ? 0 : DAY_MS);
await makeCodeCaches(`${root}/dist`).catch((error) => {
  process.stderr.write(`Code caches were not made: ${error.message}\n`);
});

/**
 * The process that forks for the server is a C program. It is linked statically, so that it runs with any C library: with
 * musl where it is installed, for its processes are smaller then. Where there is no compiler, or on
 * another system, the server forks by itself.
 */
function buildForker() {
  if (process.platform !== 'linux') return;
  const sources = readdirSync(`${root}/src/executions/forker`)
    .filter((name) => name.endsWith('.c'))
    .map((name) => `${root}/src/executions/forker/${name}`);
  const flags = ['-std=c11', '-O2', '-Wall', '-Wextra', '-Werror', '-static', '-s'];
  for (const [processor, compiler] of Object.entries(COMPILERS)) {
    const path = `${root}/dist/forker-linux-${processor}`;
    // The kernel's own headers lie with those of the other C library.
    const headers = ['', `/${compiler.replace(/-gcc$/, '')}`].flatMap((part) => [
      '-idirafter',
      `/usr/include${part}`,
    ]);
    const own = processor === process.arch ? [['musl-gcc', ...headers], ['cc'], ['gcc']] : [];
    const isBuilt = [...own, [compiler]].some(([name, ...more]) => {
      const { status, stderr, error } = spawnSync(name, [...flags, '-o', `${path}.new`, ...sources, ...more]);
      if (status !== 0 && error?.code !== 'ENOENT') process.stderr.write(stderr ?? '');
      return status === 0;
    });
    if (isBuilt) renameSync(`${path}.new`, path);
    else rmSync(path, { force: true });
    if (!isBuilt && own.length > 0)
      process.stderr.write('No C compiler: commands start slower, and sandboxes are not copied.\n');
  }
}

function place(path, contents) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, contents);
  renameSync(`${path}.new`, path);
}

async function bundle() {
  const server = { ...SPLIT, entryPoints: { cli: CLI } };
  const draft = await run(server);
  const programs = Object.entries(PROGRAMS).map(([name, path]) => ({
    ...SPLIT,
    entryPoints: { [name]: path },
  }));
  const bundles = [
    await runAsScripts({ ...server, plugins: [oneLanguage, ownModules(oneStart(draft.metafile.inputs))] }),
    await run(PAGE),
    await run({ ...SPLIT, entryPoints: THREAD }),
    ...(await Promise.all(programs.map(runAsScripts))),
  ];
  return {
    outputFiles: bundles.flatMap((each) => each.outputFiles),
    inputs: [...new Set(bundles.flatMap(({ metafile }) => Object.keys(metafile.inputs)))],
  };
}

/** As `run`, for what is loaded by scripts/load-script.mjs, which becomes the text of the entry. */
async function runAsScripts(options) {
  const result = await run({ ...options, banner: { js: '//' } });
  const files = result.outputFiles.map((file) =>
    file.path.endsWith('.js') ? { path: file.path, contents: asScript(file.text, file.path) } : file,
  );
  const [entry] = Object.keys(options.entryPoints);
  const script = files.find(({ path }) => path === `${root}/dist/${entry}.js`);
  const hash = createHash('sha256').update(script.contents).digest('hex').slice(0, 8).toUpperCase();
  const name = `${entry}-${hash}.js`;
  script.path = `${root}/dist/chunks/${name}`;
  script.contents = script.contents.replace('sourceMappingURL=', 'sourceMappingURL=../');
  const { code } = await transform(readFileSync(`${root}/scripts/load-script.mjs`, 'utf8'), {
    define: { ENTRY: JSON.stringify(`./chunks/${name}`), IS_SERVER: String(entry === 'cli') },
    minifyWhitespace: true,
  });
  files.push({ path: `${root}/dist/${entry}.js`, contents: `#!/usr/bin/env node\n${code}` });
  return { ...result, outputFiles: files };
}

/**
 * Puts all that a start loads into one chunk beside cli.js. esbuild makes a chunk for each set of entries that share a
 * module, which are twenty for a start, and Node takes a millisecond for each. So whatever is loaded later is made to
 * import all of them, which it finds loaded. Returns what is appended to a module for that.
 */
function oneStart(modules) {
  const importsOf = (path, kind) =>
    (modules[path]?.imports ?? [])
      .filter((each) => each.kind === kind && !each.external)
      .map((each) => each.path);
  const start = new Set([CLI]);
  for (const path of start) for (const next of importsOf(path, 'import-statement')) start.add(next);
  start.delete(CLI);
  const later = new Set(Object.keys(modules).flatMap((path) => importsOf(path, 'dynamic-import')));
  // Exported, since an import that nobody uses would be left out.
  const imports = [...start]
    .map((path, index) => `export * as start${index} from ${JSON.stringify(`${root}/${path}`)};`)
    .join('');
  return (path) => (later.has(relative(root, path).split(sep).join('/')) ? imports : '');
}

/** `appended` says what goes behind the text of a module, where source maps stay as they are. */
function ownModules(appended = () => '') {
  return {
    name: 'own-modules',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => ({
        contents: `${withStableShapes(readFileSync(path, 'utf8'), path)}\n${appended(path)}`,
        loader: 'ts',
      }));
    },
  };
}

/** The tools as data, by the code that describes them. */
async function makeCatalogue() {
  const { outputFiles: made } = await run({ entryPoints: ['src/all-tools.ts'] });
  const path = `${root}/dist/.create-catalogue.mjs`;
  place(path, made[0].contents);
  const { createCatalogue } = await import(`${pathToFileURL(path).href}?${Date.now()}`);
  rmSync(path);
  return createCatalogue();
}

async function run(options) {
  try {
    return await build({
      absWorkingDir: root,
      bundle: true,
      format: 'esm',
      platform: 'node',
      // Its CommonJS form loads its parts in a way that no bundler can follow.
      alias: {
        'jsonc-parser': 'jsonc-parser/lib/esm/main.js',
        // Brings a validator of JSON Schema with it, which nothing here uses.
        '@modelcontextprotocol/server/_shims': './scripts/sdk-shims.mjs',
      },
      plugins: [oneLanguage, ownModules()],
      // Its native part is found by its place.
      external: ['@lydell/node-pty'],
      target: 'node20',
      // Names stay, so that stack traces can be read.
      minifyWhitespace: true,
      minifySyntax: true,
      banner: { js: hasShebang ? require : `#!/usr/bin/env node\n${require}` },
      define: { __VERSION__: JSON.stringify(version) },
      write: false,
      ...options,
    });
  } catch {
    // esbuild has said what is wrong.
    process.exit(1);
  }
}

function depth(file) {
  return file.path.split(/[/\\]/).length;
}

/**
 * A server that is running still loads the chunks it was built with; those of days past are nobody's. A package has
 * none but its own.
 */
function removeOldChunks(keptMs) {
  const directories = [`${root}/dist/chunks`, `${root}/dist/page`].filter((path) => existsSync(path));
  for (const path of directories.flatMap((each) => readdirSync(each).map((name) => `${each}/${name}`))) {
    if (!written.has(path) && Date.now() - statSync(path).mtimeMs >= keptMs) rmSync(path);
  }
}
