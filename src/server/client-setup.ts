/**
 * What to paste into a client, for a person to read in a terminal. Pure: it looks at nothing but what it is given.
 */
export interface ClientSetup {
  /** The endpoint of the running server, where there is one. */
  readonly url?: string | undefined;
  readonly token?: string | undefined;
  /** dist/cli.js, and the Node to run it with: clients on a desktop have a PATH of their own. */
  readonly cliPath: string;
  readonly nodePath: string;
}

/** The name of the server in the client; its tools appear as `mcp__shell__…`, so it is short. */
const NAME = 'shell';

export function clientSetup({ url, token, cliPath, nodePath }: ClientSetup): string {
  const blocks: string[] = [];
  if (url !== undefined) blocks.push(httpSetup(url, token));
  blocks.push(stdioSetup(nodePath, cliPath));
  return `${blocks.join('\n\n')}\n`;
}

function httpSetup(url: string, token: string | undefined): string {
  const headers = token === undefined ? undefined : { Authorization: `Bearer ${token}` };
  const flag = token === undefined ? '' : ` --header ${shellWord(`Authorization: Bearer ${token}`)}`;
  const tomlHeaders =
    token === undefined ? '' : `\nhttp_headers = { Authorization = ${toml(`Bearer ${token}`)} }`;
  const server = { url, ...(headers && { headers }) };
  return section('To connect a client to this server, over HTTP:', [
    ['Claude Code', `claude mcp add --scope user --transport http ${NAME} ${shellWord(url)}${flag}`],
    ['Cursor, in ~/.cursor/mcp.json', json({ mcpServers: { [NAME]: server } })],
    ['VS Code', `code --add-mcp ${shellWord(json({ name: NAME, type: 'http', ...server }))}`],
    ['Codex, in ~/.codex/config.toml', `[mcp_servers.${NAME}]\nurl = ${toml(url)}${tomlHeaders}`],
    ['Gemini CLI', `gemini mcp add --scope user --transport http${flag} ${NAME} ${shellWord(url)}`],
    ['Claude Desktop', 'connects to https addresses only; let it start a server of its own, as below.'],
  ]);
}

function stdioSetup(nodePath: string, cliPath: string): string {
  const command = `${shellWord(nodePath)} ${shellWord(cliPath)}`;
  const server = { command: nodePath, args: [cliPath] };
  const inFile = json({ mcpServers: { [NAME]: server } });
  return section('To let a client start a server of its own, over stdio:', [
    ['Claude Code', `claude mcp add --scope user ${NAME} -- ${command}`],
    ['Claude Desktop, in claude_desktop_config.json (Settings > Developer > Edit Config)', inFile],
    ['Cursor, in ~/.cursor/mcp.json', inFile],
    ['VS Code', `code --add-mcp ${shellWord(json({ name: NAME, ...server }))}`],
    ['Codex', `codex mcp add ${NAME} -- ${command}`],
    ['Gemini CLI', `gemini mcp add --scope user ${NAME} ${command}`],
    ['Or have it written, also for Windsurf and Zed', `${command} install --all`],
  ]);
}

function section(title: string, entries: readonly (readonly [client: string, text: string])[]): string {
  const lines = entries.map(([client, text]) => `  ${client}\n${indent(text)}`);
  return [title, ...lines].join('\n\n');
}

function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');
}

function json(value: unknown): string {
  return JSON.stringify(value);
}

/** A basic string of TOML escapes what JSON escapes. */
function toml(text: string): string {
  return JSON.stringify(text);
}

/** For a POSIX shell; what needs no quotes gets none. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
