/**
 * The clients that `install` knows: where each keeps its servers, and what an entry looks like there. Pure: a machine is
 * described, not looked at. The paths of macOS and Windows are those of the clients' own documentation and were never
 * tried.
 */
import { posix, win32 } from 'node:path';

/** A machine, as far as it says where a file lies. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** A server that the client starts, or one that it connects to. */
export type ServerEntry =
  | {
      readonly command: string;
      readonly args: readonly string[];
      readonly variables?: Readonly<Record<string, string>>;
    }
  | { readonly url: string; readonly token: string };

export interface Client {
  /** As it is typed. */
  readonly id: string;
  readonly title: string;
  readonly format: 'json' | 'toml';
  /** The table of servers in the file. */
  readonly key: string;
  file(machine: Machine): string;
  /** Where one of these is, the client is installed. */
  traces(machine: Machine): readonly string[];
  /** What an entry has besides command and arguments. */
  readonly extra: Readonly<Record<string, unknown>>;
  /** An entry over HTTP; undefined where the client accepts none on this machine. */
  http?(url: string, headers: Readonly<Record<string, string>>): Readonly<Record<string, unknown>>;
  /** Fields that let it call tools without asking, for a mode in which it cannot ask. Written only on request. */
  readonly approval?: { readonly fields: Readonly<Record<string, unknown>>; readonly about: string };
  /** What to do before or after. */
  readonly note: string;
}

const RESTART = 'Restart it to see the server.';

export const CLIENTS: readonly Client[] = [
  define({
    id: 'claude-desktop',
    title: 'Claude Desktop',
    key: 'mcpServers',
    file: (at) => appData(at, 'Claude', 'claude_desktop_config.json'),
    note: RESTART,
  }),
  define({
    id: 'claude-code',
    title: 'Claude Code',
    key: 'mcpServers',
    file: (at) => inHome(at, at.environment['CLAUDE_CONFIG_DIR'], '.claude.json'),
    traces: (at) => [inHome(at, at.environment['CLAUDE_CONFIG_DIR'] ?? '.claude')],
    extra: { type: 'stdio' },
    http: (url, headers) => ({ type: 'http', url, headers }),
    note: 'It writes this file itself while it runs: end it first, or use "claude mcp add".',
  }),
  define({
    id: 'cursor',
    title: 'Cursor',
    key: 'mcpServers',
    file: (at) => inHome(at, '.cursor', 'mcp.json'),
    http: (url, headers) => ({ url, headers }),
    note: RESTART,
  }),
  define({
    id: 'vscode',
    title: 'VS Code',
    key: 'servers',
    file: (at) => appData(at, 'Code', 'User', 'mcp.json'),
    extra: { type: 'stdio' },
    http: (url, headers) => ({ type: 'http', url, headers }),
    note: 'It asks whether it may start the server, the first time.',
  }),
  define({
    id: 'codex',
    title: 'Codex',
    format: 'toml',
    key: 'mcp_servers',
    file: (at) => inHome(at, at.environment['CODEX_HOME'] ?? '.codex', 'config.toml'),
    http: (url, headers) => ({ url, http_headers: headers }),
    approval: {
      fields: { default_tools_approval_mode: 'approve' },
      about:
        'Codex asks before each tool that changes something. `codex exec` cannot ask, and cancels the call. With default_tools_approval_mode = "approve" it calls the tools of this server without asking, in both; the policy and the sandbox of this server still decide.',
    },
    note: RESTART,
  }),
  define({
    id: 'gemini-cli',
    title: 'Gemini CLI',
    key: 'mcpServers',
    file: (at) => inHome(at, '.gemini', 'settings.json'),
    http: (url, headers) => ({ httpUrl: url, headers }),
    note: 'It starts servers only in folders that it trusts: restart it in your project, and trust the folder when it asks, or with /permissions trust.',
  }),
  define({
    id: 'windsurf',
    title: 'Windsurf',
    key: 'mcpServers',
    file: (at) => inHome(at, '.codeium', 'windsurf', 'mcp_config.json'),
    http: (url, headers) => ({ serverUrl: url, headers }),
    note: 'Refresh its list of servers to see it.',
  }),
  define({
    id: 'zed',
    title: 'Zed',
    key: 'context_servers',
    file: zedFile,
    extra: { source: 'custom' },
    http: (url, headers) => ({ url, headers }),
    note: 'It reads the file again by itself.',
  }),
];

export function findClient(id: string): Client | undefined {
  return CLIENTS.find((client) => client.id === id);
}

function define(
  client: Pick<Client, 'id' | 'title' | 'key' | 'file' | 'note'> &
    Partial<Pick<Client, 'format' | 'extra' | 'traces' | 'http' | 'approval'>>,
): Client {
  return {
    format: 'json',
    extra: {},
    traces: (machine) => [pathsOf(machine).dirname(client.file(machine))],
    ...client,
  };
}

const pathsOf = ({ platform }: Machine): typeof posix => (platform === 'win32' ? win32 : posix);

/** An absolute one (of a variable) stands for itself. */
function inHome(machine: Machine, ...parts: (string | undefined)[]): string {
  const given = parts.filter((part) => part !== undefined && part !== '') as string[];
  return pathsOf(machine).resolve(machine.home, ...given);
}

/** Where applications keep their settings. */
function appData(machine: Machine, ...parts: string[]): string {
  const { platform, environment } = machine;
  if (platform === 'darwin') return inHome(machine, 'Library', 'Application Support', ...parts);
  if (platform === 'win32') return inHome(machine, environment['APPDATA'] ?? 'AppData\\Roaming', ...parts);
  return inHome(machine, environment['XDG_CONFIG_HOME'] ?? '.config', ...parts);
}

/** On macOS it does as on Linux. */
function zedFile(machine: Machine): string {
  if (machine.platform === 'win32') return appData(machine, 'Zed', 'settings.json');
  const config = machine.platform === 'darwin' ? undefined : machine.environment['XDG_CONFIG_HOME'];
  return inHome(machine, config ?? '.config', 'zed', 'settings.json');
}
