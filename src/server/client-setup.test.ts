import { describe, expect, it } from 'vitest';
import { clientSetup } from './client-setup.ts';

describe('clientSetup', () => {
  const text = clientSetup({
    url: 'http://127.0.0.1:3737/mcp',
    token: 'secret',
    cliPath: "/home/o'neil/my app/dist/cli.js",
    nodePath: '/usr/bin/node',
  });

  it('has a line to paste for every client, over HTTP and stdio', () => {
    for (const client of ['Claude Code', 'Claude Desktop', 'Cursor', 'VS Code', 'Codex', 'Gemini CLI']) {
      expect(text.split(client).length - 1).toBeGreaterThanOrEqual(2);
    }
    expect(text).toContain(
      "claude mcp add --scope user --transport http shell http://127.0.0.1:3737/mcp --header 'Authorization: Bearer secret'",
    );
    expect(text).toContain('http_headers = { Authorization = "Bearer secret" }');
  });

  it('quotes paths for a shell and for JSON', () => {
    expect(text).toContain(`codex mcp add shell -- /usr/bin/node '/home/o'\\''neil/my app/dist/cli.js'`);
    expect(text).toContain(
      `{"mcpServers":{"shell":{"command":"/usr/bin/node","args":["/home/o'neil/my app/dist/cli.js"]}}}`,
    );
  });
});
