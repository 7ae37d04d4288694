/**
 * Every npm script goes through here, so that each is one command on a fresh clone: it installs and builds what is
 * out of date, then does what it is named for. Plain Node without packages: it runs before anything is installed.
 */
import { spawn } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { installClients, withoutNetwork } from './clients.mjs';
import { installPrograms } from './programs.mjs';
import { root, setUp } from './setup.mjs';

const [major, minor] = process.versions.node.split('.').map(Number);
const isOldNode = major < 20 || (major === 20 && minor < 19);

const commands = {
  async start(args) {
    await setUp();
    // Commands that the server runs are no npm scripts, and must not take npm's settings for this one as theirs.
    for (const name of Object.keys(process.env)) if (name.startsWith('npm_')) delete process.env[name];
    await become('dist/cli.js', ['--http', ...args]);
  },

  /** For the clients of contributors to this repository; .mcp.json names it. */
  async stdio(args) {
    await setUp();
    await become('dist/cli.js', args);
  },

  async test(args) {
    await installPrograms();
    await setUp();
    await vitest(args);
  },

  async stress(args) {
    await installPrograms();
    await setUp();
    process.env.STRESS = '1';
    await vitest(['--project=stress', '--passWithNoTests', ...args]);
  },

  /** Installs every package format where nothing is, and calls a tool from there. */
  async packages(args) {
    await installPrograms('package-programs.json');
    await setUp();
    process.env.PACKAGES = '1';
    await vitest(['--project=packages', ...args]);
  },

  /** Real agents with a scripted model, where nothing but loopback can be reached. */
  async clients(args) {
    await installPrograms();
    await setUp();
    installClients();
    Object.assign(process.env, { CLIENTS: '1', NODE_ENV: 'test' });
    const command = [
      process.execPath,
      `${root}/node_modules/vitest/vitest.mjs`,
      'run',
      '--project=clients',
      ...args,
    ];
    const [program, ...rest] = withoutNetwork(command);
    // The terminal's signals reach both.
    const child = spawn(program, rest, { cwd: root, stdio: 'inherit' });
    child.on('close', (code) => process.exit(code ?? 1));
  },

  /** What a person runs before a commit; end-to-end tests are left to `npm test`. */
  async check(args) {
    await setUp();
    const passed = await Promise.all([
      step('format', '@biomejs/biome/bin/biome', 'check'),
      step('lint', 'oxlint/bin/oxlint', '--type-aware', '--deny-warnings'),
      step('types', 'typescript/bin/tsc', '--noEmit'),
      step('commits', '../scripts/run-ts.mjs', 'scripts/commit-subjects.ts'),
      step('types of the page', 'typescript/bin/tsc', '--noEmit', '-p', 'src/web/page'),
    ]);
    if (passed.includes(false)) process.exit(1);
    await vitest(['--project=unit', ...args]);
  },

  async format(args) {
    await setUp({ build: false });
    if (!(await step('format', '@biomejs/biome/bin/biome', 'check', '--write', ...args))) process.exit(1);
  },

  async build(args) {
    await setUp({ build: args.length === 0 });
    if (args.length > 0) await become('scripts/build.mjs', args);
  },

  async bench([name = 'latency', ...args]) {
    await setUp();
    await become('scripts/run-ts.mjs', [`bench/${name}.ts`, ...args]);
  },

  async docs(args) {
    await setUp({ build: args.includes('--record') || args.includes('--page') });
    if (args.includes('--page')) return become('scripts/run-ts.mjs', ['scripts/screenshots.ts']);
    await become('scripts/run-ts.mjs', ['scripts/reference.ts', '--write', ...args]);
  },
};

/**
 * Goes on as another program in this same process: there is then no parent that has to pass on signals, and none
 * that a signal can kill while its child lives on.
 */
async function become(file, args) {
  const path = `${root}/${file}`;
  process.argv = [process.argv[0], path, ...args];
  await import(pathToFileURL(path).href);
}

async function vitest(args) {
  process.chdir(root);
  process.env.NODE_ENV = 'test';
  await become('node_modules/vitest/vitest.mjs', ['run', ...args]);
}

/** Runs a tool of node_modules; its output is shown only if it fails. */
function step(name, tool, ...args) {
  return new Promise((resolve) => {
    const startedAtMs = Date.now();
    const child = spawn(process.execPath, [`${root}/node_modules/${tool}`, ...args], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = [];
    child.stdout.on('data', (chunk) => output.push(chunk));
    child.stderr.on('data', (chunk) => output.push(chunk));
    child.on('close', (code) => {
      const seconds = ((Date.now() - startedAtMs) / 1000).toFixed(1);
      if (code !== 0) process.stderr.write(Buffer.concat(output));
      process.stderr.write(`${name}: ${code === 0 ? 'ok' : 'FAILED'} (${seconds} s)\n`);
      resolve(code === 0);
    });
  });
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

const [name, ...args] = process.argv.slice(2);
if (isOldNode) fail(`mcp-shell-server needs Node 20.19 or newer; this is ${process.version}.`);
if (!Object.hasOwn(commands, name ?? '')) {
  fail(`usage: node scripts/run.mjs <${Object.keys(commands).join('|')}> [arguments]`);
}
await commands[name](args);
