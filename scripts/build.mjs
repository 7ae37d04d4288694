/**
 * Bundles the server into dist/: cli.js and the chunks that it loads when they are wanted, which halves the start-up
 * time against node_modules.
 */
import { execFileSync } from 'node:child_process';
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
import { dirname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { renderLegal } from './legal.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { version } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));

/** The programs: what is started as a process of its own. */
const entryPoints = {
  cli: 'src/cli.ts',
  wrapper: 'src/executions/detached/wrapper.ts',
  'pty-host': 'src/terminals/host/pty-host.ts',
};
const DAY_MS = 86_400_000;

// CommonJS packages (commander) call require for Node's own modules, which an ES module does not have.
const require = "import{createRequire as $require}from'node:module';const require=$require(import.meta.url);";
const hasShebang = readFileSync(`${root}/src/cli.ts`, 'utf8').startsWith('#!');

/** Zod's messages in fifty languages: a quarter of a megabyte to be read at every start, and ours are in English. */
const oneLanguage = {
  name: 'one-language',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
    }));
  },
};

const { outputFiles, metafile } = await bundle();
const catalogue = await makeCatalogue();
const written = new Set();
const isNotice = ({ path }) => path.endsWith('.LEGAL.txt');
place(`${root}/dist/catalogue.json`, JSON.stringify(catalogue));
// Entries last and each file renamed into place: whoever starts the server meanwhile gets the old one or the new one.
for (const file of outputFiles.filter((each) => !isNotice(each)).sort((a, b) => depth(b) - depth(a))) {
  place(file.path, file.contents);
  written.add(file.path);
}
const notices = outputFiles.filter(isNotice).map(({ text }) => text);
place(`${root}/dist/LEGAL.txt`, renderLegal(root, Object.keys(metafile.inputs), notices));
cpSync(`${root}/src/terminals/shell-integration`, `${root}/dist/shell-integration`, { recursive: true });
chmodSync(`${root}/dist/cli.js`, 0o755);
// The manual page comes from the program's own definitions; npm puts it where man finds it.
place(`${root}/dist/mcp-shell-server.1`, execFileSync(process.execPath, [`${root}/dist/cli.js`, 'man']));
removeOldChunks(process.argv.includes('--exact') ? 0 : DAY_MS);

function place(path, contents) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, contents);
  renameSync(`${path}.new`, path);
}

async function bundle() {
  return run({
    entryPoints: Object.fromEntries(
      Object.entries(entryPoints).filter(([, path]) => existsSync(`${root}/${path}`)),
    ),
    outdir: 'dist',
    chunkNames: 'chunks/[name]-[hash]',
    splitting: true,
    sourcemap: 'linked',
    legalComments: 'external',
    metafile: true,
  });
}

/** The tools as data, by the code that describes them. */
async function makeCatalogue() {
  const { outputFiles: made } = await run({ entryPoints: ['src/server/create-catalogue.ts'] });
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
      plugins: [oneLanguage],
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
  if (!existsSync(`${root}/dist/chunks`)) return;
  for (const name of readdirSync(`${root}/dist/chunks`)) {
    const path = `${root}/dist/chunks/${name}`;
    if (!written.has(path) && Date.now() - statSync(path).mtimeMs >= keptMs) rmSync(path);
  }
}
