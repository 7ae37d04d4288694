/**
 * Links that put the server into a client with a click, from the entry that both clients get. GitHub shows no links with
 * schemes of their own, so that those in the README go by the clients' web pages.
 */
import { readFileSync } from 'node:fs';

const { name: PACKAGE } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  name: string;
};

const NAME = 'shell';
const ENTRY = { command: 'npx', args: ['-y', PACKAGE] };

export const INSTALL_LINKS = {
  cursor: withQuery('https://cursor.com/en/install-mcp', {
    name: NAME,
    config: Buffer.from(JSON.stringify(ENTRY)).toString('base64'),
  }),
  vscode: withQuery('https://insiders.vscode.dev/redirect/mcp/install', {
    name: NAME,
    config: JSON.stringify(ENTRY),
  }),
};

function withQuery(url: string, query: Record<string, string>): string {
  const parts = Object.entries(query).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  return `${url}?${parts.join('&')}`;
}
