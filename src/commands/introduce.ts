/** For a person who started the server by hand, where a client should have: what it is, and what to type instead. */
import { CLIENTS } from './install/clients.ts';
import { wrapText } from './paint.ts';

export function introduction({ program, columns }: { program: string; columns: number }): string {
  const width = Math.min(columns, 100);
  const commands: readonly (readonly [string, string])[] = [
    [`${program} install claude-code`, 'connect a client, which then starts the server itself'],
    [`${program} --http`, 'one server for several clients, over HTTP'],
    [`${program} doctor`, 'what works on this machine'],
    [`${program} --help`, 'everything else'],
  ];
  return [
    ...wrapText(
      'This is mcp-shell-server, an MCP server: it runs commands for AI agents. Clients start it and talk to it over stdin and stdout, so there is nothing to type here.',
      width,
    ),
    '',
    ...commands.flatMap(([command, purpose]) => [`  ${command}`, `      ${purpose}`]),
    '',
    ...wrapText(`Clients: ${CLIENTS.map(({ id }) => id).join(', ')}.`, width),
    'It is waiting for MCP messages now. Ctrl-C ends it.',
    '',
    '',
  ].join('\n');
}
