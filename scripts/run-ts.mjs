/** Runs a TypeScript program of this repository: `node scripts/run-ts.mjs <file.ts> [arguments]`. */
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const [file, ...args] = process.argv.slice(2);
const path = resolve(root, file);

// Beside its source, so that import.meta.url and packages resolve as they do there.
const outfile = join(dirname(path), `.run-ts-${process.pid}.mjs`);
process.once('exit', () => rmSync(outfile, { force: true }));
buildSync({
  entryPoints: [path],
  outfile,
  bundle: true,
  packages: 'external',
  format: 'esm',
  platform: 'node',
  target: 'node20',
  define: { __VERSION__: JSON.stringify(version) },
});
process.argv = [process.argv[0], path, ...args];
await import(pathToFileURL(outfile).href);
