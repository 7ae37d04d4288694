/**
 * Builds the MCPB bundle: `node scripts/mcpb.mjs <package.tgz> <bundle.mcpb>`. The npm package is installed into it with
 * the native module for every platform, since it is built on another platform than it is used on.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const NATIVE = '@lydell/node-pty';
const PLATFORMS = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'];

const [tarball, bundle] = process.argv.slice(2).map((path) => resolve(path));
if (bundle === undefined) {
  process.stderr.write('usage: node scripts/mcpb.mjs <package.tgz> <bundle.mcpb>\n');
  process.exit(1);
}
const stage = mkdtempSync(join(tmpdir(), 'mcpb-'));
try {
  copyFileSync(join(root, 'packaging/mcpb/manifest.json'), join(stage, 'manifest.json'));
  install(join(stage, 'server'));
  const mcpb = join(root, 'node_modules/@anthropic-ai/mcpb/dist/cli/cli.js');
  run(process.execPath, [mcpb, 'validate', join(stage, 'manifest.json')]);
  run(process.execPath, [mcpb, 'pack', stage, bundle]);
} finally {
  rmSync(stage, { recursive: true, force: true });
}

function install(server) {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const native = PLATFORMS.map((platform) => [`${NATIVE}-${platform}`, dependencies[NATIVE]]);
  mkdirSync(server);
  writeFileSync(
    join(server, 'package.json'),
    JSON.stringify({
      private: true,
      dependencies: { 'mcp-shell-server': `file:${tarball}`, ...Object.fromEntries(native) },
    }),
  );
  // --force: packages for other platforms than this one.
  const flags = ['--force', '--ignore-scripts', '--omit=dev', '--no-package-lock', '--no-audit', '--no-fund'];
  run('npm', ['install', ...flags], server);
  // They name a file of this machine, and have no use any more.
  for (const name of ['package.json', 'node_modules/.package-lock.json']) rmSync(join(server, name));
}

function run(program, args, cwd = root) {
  execFileSync(program, args, { cwd, stdio: ['ignore', 2, 2] });
}
