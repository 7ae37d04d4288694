import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectConfiguration } from 'vitest/config';

const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as {
  version: string;
};

function project(
  name: string,
  include: string[],
  timeoutMs: number,
  hookTimeoutMs = timeoutMs,
): TestProjectConfiguration {
  return {
    define: { __VERSION__: JSON.stringify(version) },
    test: {
      name,
      include,
      testTimeout: timeoutMs,
      hookTimeout: hookTimeoutMs,
      // What is waited for comes, or does not: how long it takes on a busy machine is not what a test is about.
      expect: { poll: { timeout: 30_000 } },
      // Processes, not threads: tests start real ones, and a signal goes to all threads of one. A file finds the modules
      // that an earlier one has loaded (a fifth of all the time), so that they keep nothing of their own.
      pool: 'forks',
      isolate: false,
      setupFiles: ['test/setup/handles.ts'],
    },
  };
}

export default defineConfig({
  test: {
    globalSetup: ['test/setup/leaks.ts'],
    // What was compiled stays on disk for the next run: a third of what a worker needs to load everything.
    experimental: { fsModuleCache: true },
    // Most tests wait for processes of their own rather than compute. Those of the stress suite load the machine alone.
    maxWorkers: process.env.STRESS === '1' ? availableParallelism() : Math.max(6, availableParallelism()),
    projects: [
      project('unit', ['src/**/*.test.ts', 'test/*.test.ts'], 60_000),
      project('e2e', ['test/e2e/**/*.test.ts'], 180_000),
      // All take minutes; `npm run test:stress`, `test:packages` and `test:clients` ask for them. What takes long of
      // packages is making one and a machine to install it on, before the first test.
      ...(process.env.STRESS === '1' ? [project('stress', ['test/stress/**/*.test.ts'], 600_000)] : []),
      ...(process.env.PACKAGES === '1'
        ? [project('packages', ['test/packages/**/*.test.ts'], 180_000, 900_000)]
        : []),
      ...(process.env.CLIENTS === '1' ? [project('clients', ['test/clients/**/*.test.ts'], 180_000)] : []),
    ],
  },
});
