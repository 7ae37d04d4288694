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
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

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

const { outputFiles } = bundle();
const written = new Set();
// Entries last and each file renamed into place: whoever starts the server meanwhile gets the old one or the new one.
for (const file of outputFiles.sort((a, b) => depth(b) - depth(a))) {
  mkdirSync(dirname(file.path), { recursive: true });
  writeFileSync(`${file.path}.new`, file.contents);
  renameSync(`${file.path}.new`, file.path);
  written.add(file.path);
}
cpSync(`${root}/src/terminals/shell-integration`, `${root}/dist/shell-integration`, { recursive: true });
chmodSync(`${root}/dist/cli.js`, 0o755);
// The manual page comes from the program's own definitions; npm puts it where man finds it.
const manual = execFileSync(process.execPath, [`${root}/dist/cli.js`, 'man']);
writeFileSync(`${root}/dist/mcp-shell-server.1.new`, manual);
renameSync(`${root}/dist/mcp-shell-server.1.new`, `${root}/dist/mcp-shell-server.1`);
removeOldChunks();

function bundle() {
  try {
    return buildSync({
      absWorkingDir: root,
      entryPoints: Object.fromEntries(
        Object.entries(entryPoints).filter(([, path]) => existsSync(`${root}/${path}`)),
      ),
      outdir: 'dist',
      chunkNames: 'chunks/[name]-[hash]',
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      // Its CommonJS form loads its parts in a way that no bundler can follow.
      alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' },
      // Its native part is found by its place.
      external: ['@lydell/node-pty'],
      target: 'node20',
      // Names stay, so that stack traces can be read.
      minifyWhitespace: true,
      minifySyntax: true,
      sourcemap: 'linked',
      legalComments: 'external',
      banner: { js: hasShebang ? require : `#!/usr/bin/env node\n${require}` },
      define: { __VERSION__: JSON.stringify(version) },
      write: false,
    });
  } catch {
    // esbuild has said what is wrong.
    process.exit(1);
  }
}

function depth(file) {
  return file.path.split(/[/\\]/).length;
}

/** A server that is running still loads the chunks it was built with; those of days past are nobody's. */
function removeOldChunks() {
  if (!existsSync(`${root}/dist/chunks`)) return;
  for (const name of readdirSync(`${root}/dist/chunks`)) {
    const path = `${root}/dist/chunks/${name}`;
    if (!written.has(path) && Date.now() - statSync(path).mtimeMs > DAY_MS) rmSync(path);
  }
}
