/** The real clients, as packages of npm: how each is set up, and how one is asked to do something without a person. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../../support/root.ts';

const MODULES = join(ROOT, 'node_modules/.clients/node_modules');

export interface Agent {
  /** As `install` calls it. */
  readonly id: 'claude-code' | 'codex' | 'gemini-cli';
  readonly title: string;
  /** As a person types it. */
  readonly name: string;
  /** The program behind it, and what comes before its arguments. */
  readonly program: readonly [string, ...string[]];
  readonly isInstalled: boolean;
  /** Options of `install` that a person chooses for a client that runs without anybody to ask. */
  readonly install: readonly string[];
  /** Does what the model says, and ends. */
  readonly ask: readonly string[];
  readonly environment: (modelUrl: string) => Readonly<Record<string, string>>;
  /** Sets what a person would have set before, and leaves what `install` wrote. */
  readonly prepare: (home: string, modelUrl: string) => void;
  /** Where the lines belong that the server prints for this client over HTTP, if they are no command. */
  readonly file?: string;
  /** What a person adds to those lines, for a client that runs without anybody to ask. */
  readonly fileAlso?: string;
  /** A result without what the client puts around it. */
  readonly unwrap: (result: string) => string;
}

const CLAUDE = join(MODULES, `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`);
const CODEX = join(MODULES, '@openai/codex/bin/codex.js');
const GEMINI = join(MODULES, '@google/gemini-cli/bundle/gemini.js');

export const AGENTS: readonly Agent[] = [
  {
    id: 'claude-code',
    title: 'Claude Code',
    name: 'claude',
    program: [CLAUDE],
    isInstalled: existsSync(CLAUDE),
    install: [],
    ask: ['-p', 'go', '--allowedTools', 'mcp__shell'],
    environment: (modelUrl) => ({
      ANTHROPIC_BASE_URL: modelUrl,
      ANTHROPIC_API_KEY: 'none',
      // It otherwise describes most tools only once the model has searched for them.
      ENABLE_TOOL_SEARCH: 'false',
      // A busy machine takes its time to start the server.
      MCP_TIMEOUT: '100000',
      MCP_CONNECT_TIMEOUT_MS: '100000',
      MCP_CONNECTION_NONBLOCKING: '0',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
    prepare: () => undefined,
    unwrap: (result) => result,
  },
  {
    id: 'codex',
    title: 'Codex',
    name: 'codex',
    program: [process.execPath, CODEX],
    isInstalled: existsSync(CODEX),
    // `codex exec` cancels what it cannot ask for.
    install: ['--approve-tools'],
    ask: [
      'exec',
      '--skip-git-repo-check',
      // It waits for a server that it needs.
      '-c',
      'mcp_servers.shell.required=true',
      '-c',
      'mcp_servers.shell.startup_timeout_sec=100',
      'go',
    ],
    environment: () => ({ SCRIPTED_KEY: 'none' }),
    prepare: (home, modelUrl) =>
      rewrite(join(home, '.codex/config.toml'), (installed) =>
        [
          'model = "scripted"',
          'model_provider = "scripted"',
          'check_for_update_on_startup = false',
          '[analytics]',
          'enabled = false',
          '[model_providers.scripted]',
          'name = "scripted"',
          `base_url = "${modelUrl}/v1"`,
          'wire_api = "responses"',
          'env_key = "SCRIPTED_KEY"',
          installed,
        ].join('\n'),
      ),
    file: '.codex/config.toml',
    fileAlso: 'default_tools_approval_mode = "approve"\n',
    unwrap: (result) => result.replace(/^Wall time: .*\nOutput:\n/, ''),
  },
  {
    id: 'gemini-cli',
    title: 'Gemini CLI',
    name: 'gemini',
    program: [process.execPath, GEMINI],
    isInstalled: existsSync(GEMINI),
    install: [],
    // Without a model's name it asks a model which one to ask.
    ask: ['-p', 'go', '--yolo', '--model', 'gemini-2.5-pro'],
    environment: (modelUrl) => ({ GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: modelUrl }),
    prepare: (home) =>
      rewrite(join(home, '.gemini/settings.json'), (installed) =>
        JSON.stringify({
          ...(JSON.parse(installed || '{}') as object),
          security: { folderTrust: { enabled: false }, auth: { selectedType: 'gemini-api-key' } },
          general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
          privacy: { usageStatisticsEnabled: false },
          telemetry: { enabled: false },
        }),
      ),
    unwrap: (result) => withoutReport(result.replace(/^<untrusted_context>\n|\n<\/untrusted_context>$/g, '')),
  },
];

/** Gemini CLI puts the call and the whole answer as JSON into what the model reads of an error. */
function withoutReport(result: string): string {
  const [, answer] = /^MCP tool '.*' reported tool error .* with response: (\[.*\])$/s.exec(result) ?? [];
  if (answer === undefined) return result;
  const [part] = JSON.parse(answer) as [{ functionResponse: { response: { content: { text: string }[] } } }];
  return part.functionResponse.response.content.map(({ text }) => text).join('\n');
}

/** What is not there yet reads as nothing. */
export function rewrite(file: string, change: (text: string) => string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, change(existsSync(file) ? readFileSync(file, 'utf8') : ''));
}
