/**
 * The rules of ARCHITECTURE.md as a table. A new module gets a row, a new entry point a line; loosening anything else
 * here is a decision and belongs in docs/decisions.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findProblems, type Rules, type Sources } from '../scripts/architecture.ts';

const RULES: Rules = {
  // Types obey the same direction as values: a type is knowledge too. A module that needs something from above states it as an
  // interface of its own, and app.ts passes it in. Modules in one row do not import each other.
  layers: [
    ['cli'],
    ['web'],
    ['commands'],
    ['front'],
    ['app'],
    ['all-tools'],
    ['server'],
    ['compat'],
    ['tools'],
    ['terminals'],
    ['executions'],
    ['security', 'outputs'],
    ['base'],
  ],

  // A module exports from <module>/<module>.ts; types that others need without its code are in <module>/types.ts.
  entryPoints: {
    web: ['web/web-command.ts'],
    commands: 'any',
    front: ['front.ts'],
    app: ['app.ts'],
    'all-tools': ['all-tools.ts'],
    server: [
      'server/server.ts',
      'server/stdio.ts',
      'server/http/http.ts',
      'server/auth.ts',
      'server/operation.ts',
      'server/dispatch.ts',
      'server/definitions.ts',
      'server/catalogue.ts',
      'server/instructions.ts',
      'server/client-setup.ts',
    ],
    compat: ['compat/compat.ts'],
    // modules.ts is the hub of types: what app.ts builds and a tool may use.
    tools: ['tools/tools.ts', 'tools/tool.ts', 'tools/modules.ts', 'tools/known-clients.ts'],
    terminals: ['terminals/terminals.ts', 'terminals/attach.ts', 'terminals/boot-host.ts'],
    executions: [
      'executions/executions.ts',
      'executions/processes.ts',
      'executions/helper.ts',
      'executions/own-program.ts',
    ],
    // What is needed before the rest is loaded, or by one transport alone, has an entry point of its own.
    security: [
      'security/security.ts',
      'security/sandbox/sandbox.ts',
      'security/sandbox/profile.ts',
      'security/shells.ts',
      'security/tokens/tokens.ts',
      'security/questions/questions.ts',
    ],
    outputs: ['outputs/outputs.ts', 'outputs/types.ts', 'outputs/views.ts'],
    base: 'any',
  },

  only: [
    { use: ['@modelcontextprotocol/*'], by: ['server/'], why: 'only server/ knows MCP' },
    {
      use: ['compat/*'],
      by: ['compat/', 'all-tools.ts'],
      why: 'only all-tools.ts knows of compatible interfaces',
    },
    {
      use: ['node:child_process', 'node:cluster', 'process.kill'],
      by: ['executions/'],
      why: 'only executions/ creates or signals a process',
      typesAreFree: true,
    },
    { use: ['process.env'], by: ['base/config'], why: 'settings come from base/config' },
    {
      use: ['process.argv', 'process.exit', 'process.exitCode'],
      // The wrapper of a detached execution and the host of terminals are programs of their own.
      by: ['cli', 'executions/detached/wrapper.ts', 'terminals/host/pty-host.ts'],
      why: 'only cli.ts reads argv or sets the exit code',
    },
    {
      use: ['process.stdout'],
      by: ['cli', 'server/stdio', 'executions/detached/wrapper.ts', 'terminals/host/pty-host.ts'],
      why: 'stdout belongs to the transport',
    },
    { use: ['console'], by: [], why: 'log through base/log.ts' },
    { use: ['node:process', 'process'], by: [], why: 'name what is used, as in process.pid' },
  ],

  pure: {
    folder: 'security/policy/',
    never: [
      'node:child_process',
      'node:dns',
      'node:fs',
      'node:fs/promises',
      'node:http',
      'node:https',
      'node:net',
      'node:os',
      'node:worker_threads',
    ],
  },

  maxLines: 400,
};

test('the sources obey the module rules', () => {
  expect(findProblems(readSources(), RULES)).toEqual([]);
});

describe('the checker finds', () => {
  const cases: { name: string; sources: Sources; problems: string[] }[] = [
    {
      name: 'nothing where all is well',
      sources: {
        'cli.ts': "import { run } from './app.ts'; process.exitCode = await run(process.argv);",
        'app.ts': "import { o } from './outputs/outputs.ts'; export const run = o;",
        'outputs/outputs.ts':
          "import { x } from './files.ts'; export const o = x; // console.log(process.env)",
        'outputs/files.ts':
          "import type { ChildProcess } from 'node:child_process'; export const x = 'process.env.HOME';",
      },
      problems: [],
    },
    {
      name: 'an import upwards, also of a type',
      sources: {
        'outputs/outputs.ts': "import type { Call } from '../tools/tool.ts';",
        'base/ids.ts': "export type A = import('../outputs/types.ts').A;",
      },
      problems: [
        'outputs/outputs.ts imports tools/tool.ts: tools does not lie below outputs',
        'base/ids.ts imports outputs/types.ts: outputs does not lie below base',
      ],
    },
    {
      name: 'neighbours that know each other',
      sources: { 'security/security.ts': "export * from '../outputs/outputs.ts';" },
      problems: ['security/security.ts imports outputs/outputs.ts: outputs does not lie below security'],
    },
    {
      name: 'an import past the entry points, also a lazy one',
      sources: { 'tools/shell-execute.ts': "const { wait } = await import('../executions/wait.ts');" },
      problems: ['tools/shell-execute.ts imports executions/wait.ts, which is not an entry point'],
    },
    {
      name: 'a module that is not in the table',
      sources: { 'utils/strings.ts': '' },
      problems: ['utils/strings.ts: utils has no place in the layers'],
    },
    {
      name: 'an import from outside of src',
      sources: { 'base/version.ts': "import data from '../../package.json' with { type: 'json' };" },
      problems: ['base/version.ts imports ../package.json, which is outside of src'],
    },
    {
      name: 'packages in the wrong module, however they are spelled',
      sources: {
        'tools/tools.ts': "import type { Server } from '@modelcontextprotocol/server';",
        'outputs/outputs.ts': "import { spawn } from 'child_process';",
      },
      problems: [
        'tools/tools.ts uses @modelcontextprotocol/server: only server/ knows MCP',
        'outputs/outputs.ts uses node:child_process: only executions/ creates or signals a process',
      ],
    },
    {
      name: 'compatible interfaces anywhere but in the catalogue, also as a type',
      sources: {
        'all-tools.ts': "import { tools } from './compat/compat.ts';",
        'compat/compat.ts': "export { shell } from './shell.ts';",
        'app.ts': "import { tools } from './compat/compat.ts';",
        'server/dispatch.ts': "import type { Compat } from '../compat/compat.ts';",
      },
      problems: [
        'app.ts uses compat/compat.ts: only all-tools.ts knows of compatible interfaces',
        'server/dispatch.ts uses compat/compat.ts: only all-tools.ts knows of compatible interfaces',
      ],
    },
    {
      name: 'globals in the wrong module, also destructured',
      sources: {
        'outputs/outputs.ts':
          'process.kill(1); console.log(`${process.env.HOME}`); globalThis.process.exit(1);',
        'tools/tools.ts': "const { env } = process; process['argv']; process.stdout.write('');",
      },
      problems: [
        'outputs/outputs.ts uses process.kill: only executions/ creates or signals a process',
        'outputs/outputs.ts uses process.env: settings come from base/config',
        'outputs/outputs.ts uses process.exit: only cli.ts reads argv or sets the exit code',
        'outputs/outputs.ts uses console: log through base/log.ts',
        'tools/tools.ts uses process.stdout: stdout belongs to the transport',
        'tools/tools.ts uses process: name what is used, as in process.pid',
      ],
    },
    {
      name: 'side effects that the policy reaches through others',
      sources: {
        'security/policy/decide.ts':
          "import { a } from '../../base/a.ts'; import type { B } from '../../base/b.ts';",
        'base/a.ts': "import { readFileSync } from 'node:fs';",
        'base/b.ts': "import { readFileSync } from 'node:fs';",
      },
      problems: ['security/policy/ is not pure: security/policy/decide.ts -> base/a.ts -> node:fs'],
    },
    {
      name: 'a cycle of files, also of types',
      sources: {
        'base/a.ts': "import './b.ts';",
        'base/b.ts': "import './c.ts';",
        'base/c.ts': "import './a.ts';",
        'base/d.ts': "import type { E } from './e.ts';",
        'base/e.ts': "import './d.ts';",
      },
      problems: [
        'cycle: base/a.ts -> base/b.ts -> base/c.ts -> base/a.ts',
        'cycle: base/d.ts -> base/e.ts -> base/d.ts',
      ],
    },
    {
      name: 'a file that is too long',
      sources: { 'base/long.ts': '\n'.repeat(401) },
      problems: ['base/long.ts has 401 lines; at most 400'],
    },
  ];

  test.each(cases)('$name', ({ sources, problems }) => {
    expect(findProblems(sources, RULES)).toEqual(problems);
  });
});

/** Tests import anything. */
function readSources(): Sources {
  const directory = join(import.meta.dirname, '../src');
  const paths = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path) && !/\.(?:test|d)\.tsx?$/.test(path))
    .map((path) => join(directory, path));
  return Object.fromEntries(
    paths.map((path) => [relative(directory, path).split(sep).join('/'), readFileSync(path, 'utf8')]),
  );
}
