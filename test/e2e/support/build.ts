import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/** Bundles a program of this folder as the product is bundled; Node 20 does not run TypeScript. */
export async function buildProgram(
  name: string,
): Promise<{ path: string; directory: string; remove(): void }> {
  const directory = mkdtempSync(join(tmpdir(), 'mcp-shell-test-'));
  const path = join(directory, `${name}.mjs`);
  await build({
    entryPoints: [fileURLToPath(new URL(`${name}.ts`, import.meta.url))],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    outfile: path,
    logLevel: 'silent',
  });
  return { path, directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}
