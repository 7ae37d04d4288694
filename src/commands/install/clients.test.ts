/** Where clients keep their settings. Those of macOS and Windows are taken from documents and were never tried. */
import { expect, test } from 'vitest';
import { CLIENTS, type Machine } from './clients.ts';

const filesOn = (machine: Machine): Record<string, string> =>
  Object.fromEntries(CLIENTS.map((client) => [client.id, client.file(machine)]));

test('on Linux', () => {
  expect(filesOn({ platform: 'linux', home: '/home/me', environment: {} })).toEqual({
    'claude-desktop': '/home/me/.config/Claude/claude_desktop_config.json',
    'claude-code': '/home/me/.claude.json',
    cursor: '/home/me/.cursor/mcp.json',
    vscode: '/home/me/.config/Code/User/mcp.json',
    codex: '/home/me/.codex/config.toml',
    'gemini-cli': '/home/me/.gemini/settings.json',
    windsurf: '/home/me/.codeium/windsurf/mcp_config.json',
    zed: '/home/me/.config/zed/settings.json',
  });
});

test('on Linux, where variables say otherwise', () => {
  const environment = { XDG_CONFIG_HOME: '/config', CODEX_HOME: '/codex', CLAUDE_CONFIG_DIR: '/claude' };
  expect(filesOn({ platform: 'linux', home: '/home/me', environment })).toMatchObject({
    'claude-desktop': '/config/Claude/claude_desktop_config.json',
    'claude-code': '/claude/.claude.json',
    vscode: '/config/Code/User/mcp.json',
    codex: '/codex/config.toml',
    zed: '/config/zed/settings.json',
  });
});

test('on macOS (untried)', () => {
  expect(filesOn({ platform: 'darwin', home: '/Users/me', environment: {} })).toEqual({
    'claude-desktop': '/Users/me/Library/Application Support/Claude/claude_desktop_config.json',
    'claude-code': '/Users/me/.claude.json',
    cursor: '/Users/me/.cursor/mcp.json',
    vscode: '/Users/me/Library/Application Support/Code/User/mcp.json',
    codex: '/Users/me/.codex/config.toml',
    'gemini-cli': '/Users/me/.gemini/settings.json',
    windsurf: '/Users/me/.codeium/windsurf/mcp_config.json',
    zed: '/Users/me/.config/zed/settings.json',
  });
});

test('on Windows (untried)', () => {
  const environment = { APPDATA: 'C:\\Users\\me\\AppData\\Roaming' };
  expect(filesOn({ platform: 'win32', home: 'C:\\Users\\me', environment })).toEqual({
    'claude-desktop': 'C:\\Users\\me\\AppData\\Roaming\\Claude\\claude_desktop_config.json',
    'claude-code': 'C:\\Users\\me\\.claude.json',
    cursor: 'C:\\Users\\me\\.cursor\\mcp.json',
    vscode: 'C:\\Users\\me\\AppData\\Roaming\\Code\\User\\mcp.json',
    codex: 'C:\\Users\\me\\.codex\\config.toml',
    'gemini-cli': 'C:\\Users\\me\\.gemini\\settings.json',
    windsurf: 'C:\\Users\\me\\.codeium\\windsurf\\mcp_config.json',
    zed: 'C:\\Users\\me\\AppData\\Roaming\\Zed\\settings.json',
  });
});
