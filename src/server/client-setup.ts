/**
 * What to paste into a client, for a person to read in a terminal. Pure: it looks at nothing but what it is given.
 */
export interface ClientSetup {
  /** The endpoint of the running server. */
  readonly url: string;
  readonly token: string;
  /** dist/cli.js, and the Node to run it with: clients on a desktop have a PATH of their own. */
  readonly cliPath: string;
  readonly nodePath: string;
}

/** The name of the server in the client; its tools appear as `mcp__shell__…`, so it is short. */
const NAME = 'shell';

export function clientSetup({ url, token, cliPath, nodePath }: ClientSetup): string {
  return `${httpSetup(url, `Bearer ${token}`)}\n\n${stdioSetup(nodePath, cliPath)}\n`;
}

function httpSetup(url: string, bearer: string): string {
  const flag = ` --header ${shellWord(`Authorization: ${bearer}`)}`;
  // A basic string of TOML escapes what JSON escapes.
  const inToml = `url = ${json(url)}\nhttp_headers = { Authorization = ${json(bearer)} }`;
  const server = { url, headers: { Authorization: bearer } };
  return section('To connect a client to this server, over HTTP:', [
    ['Claude Code', `claude mcp add --scope user --transport http ${NAME} ${shellWord(url)}${flag}`],
    ['Cursor, in ~/.cursor/mcp.json', json({ mcpServers: { [NAME]: server } })],
    ['VS Code', `code --add-mcp ${shellWord(json({ name: NAME, type: 'http', ...server }))}`],
    ['Codex, in ~/.codex/config.toml', `[mcp_servers.${NAME}]\n${inToml}`],
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
  const lines = entries.map(([client, text]) => `  ${client}\n${text.replaceAll(/^/gm, '    ')}`);
  return [title, ...lines].join('\n\n');
}

const json = (value: unknown): string => JSON.stringify(value);

/** For a POSIX shell; what needs no quotes gets none. */
function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
