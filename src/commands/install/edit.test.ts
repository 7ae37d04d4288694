/** Files of people's clients: whatever is in them stays, or nothing is changed. */
import { describe, expect, test } from 'vitest';
import { CLIENTS, type Client, findClient } from './clients.ts';
import { editFile } from './edit.ts';
import { readJson } from './edit-json.ts';
import { EditRefused } from './table.ts';

const ENTRY = { command: '/usr/bin/node', args: ['/opt/mcp-shell-server/dist/cli.js', '--tools', 'simple'] };
const isOurs = (entry: Readonly<Record<string, unknown>>): boolean =>
  JSON.stringify(entry).includes('mcp-shell-server');

const client = (id: string): Client => findClient(id) ?? CLIENTS[0] ?? fail();
function fail(): never {
  throw new Error('no such client');
}
const add = (id: string, text: string, name = 'shell'): string =>
  editFile(text, { client: client(id), name, entry: ENTRY, isOurs });
const remove = (id: string, text: string, name = 'shell'): string =>
  editFile(text, { client: client(id), name, entry: undefined, isOurs });
const lines = (...parts: string[]): string => `${parts.join('\n')}\n`;

describe('in JSON', () => {
  test.for(CLIENTS.filter(({ format }) => format === 'json'))(
    'a new file of $title',
    ({ id, key, extra }) => {
      const text = add(id, '');
      expect(JSON.parse(text)).toEqual({ [key]: { shell: { ...extra, ...ENTRY } } });
      expect(text.endsWith('\n')).toBe(true);
      expect(JSON.parse(remove(id, text))).toEqual({ [key]: {} });
      expect(add(id, text)).toBe(text);
    },
  );

  test('comments, unknown keys, order and indentation stay', () => {
    const before = lines(
      '// my settings',
      '{',
      '\t"theme": "dark", /* nice */',
      '\t"context_servers": {',
      '\t\t// the good one',
      '\t\t"other": { "command": "x", "env": { "A": "1" }, },',
      '\t},',
      '\t"vim_mode": true, // yes',
      '}',
    );
    const after = add('zed', before);
    expect(after).toBe(
      lines(
        '// my settings',
        '{',
        '\t"theme": "dark", /* nice */',
        '\t"context_servers": {',
        '\t\t// the good one',
        '\t\t"other": { "command": "x", "env": { "A": "1" }, },',
        '\t\t"shell": {',
        '\t\t\t"source": "custom",',
        '\t\t\t"command": "/usr/bin/node",',
        '\t\t\t"args": [',
        '\t\t\t\t"/opt/mcp-shell-server/dist/cli.js",',
        '\t\t\t\t"--tools",',
        '\t\t\t\t"simple"',
        '\t\t\t]',
        '\t\t},',
        '\t},',
        '\t"vim_mode": true, // yes',
        '}',
      ),
    );
    expect(remove('zed', after)).toBe(before);
  });

  const WRITTEN = [
    lines('{', '  "a": 1 // one', '}'),
    lines('{', '  "mcpServers": {', '    "x": { "command": "y" } // why', '    // end', '  }', '}'),
    lines('{', '  "mcpServers": {', '    "x": {}, /* two', '    lines */', '  },', '}'),
    lines('{', '  "mcpServers": {', '    "x": {}', '    , "y": {}', '  }', '}'),
    lines('{', '    "mcpServers": { "x": { "command": "y" } },', '    "z": 1', '}'),
    lines('{', '  "mcpServers": {', '    // nothing yet', '  }', '}'),
    lines('{', '  "mcpServers": { /* nothing yet */ }', '}'),
    lines('{', '  // nothing', '}'),
    lines('{', '  "a": 1 }'),
    '{"a":1,"mcpServers":{"x":{"command":"y"}}}',
    '{"mcpServers":{}}',
    '{ }',
    lines('{', '  "a": "// no comment", "b": "},{",', '  "mcpServers": {"q": {"args": ["}"]}}', '}'),
    lines('{', '', '', '  "a": 1,', '', '}'),
  ];
  test.for(WRITTEN)('is added and removed without a trace of it: %s', (before) => {
    const after = add('cursor', before);
    expect(after).not.toBe(before);
    for (const comment of before.match(/\/\/.*|\/\*[^]*?\*\//g) ?? []) expect(after).toContain(comment);
    const left = remove('cursor', after);
    for (const comment of before.match(/\/\/.*|\/\*[^]*?\*\//g) ?? []) expect(left).toContain(comment);
    expect(left).not.toMatch(/shell|node/);
    expect(readJson(left)).toEqual({ mcpServers: {}, ...readJson(before) });
    // Once there is a table of servers, nothing more is left.
    expect(remove('cursor', add('cursor', left))).toBe(left);
  });

  test('a comment behind a value stays behind it', () => {
    const before = lines('{', '  "mcpServers": {', '    "x": {} // why', '  }', '}');
    const after = add('cursor', before);
    expect(after).toContain('    "x": {}, // why\n    "shell": {\n');
    expect(remove('cursor', after)).toBe(before);
  });

  test('what else stands in an entry of ours stays', () => {
    const before = lines(
      '{',
      '  "mcpServers": {',
      '    "shell": {',
      '      "command": "node", // old',
      '      "args": ["/old/mcp-shell-server/dist/cli.js"],',
      '      "env": { "MCP_SHELL_SECURITY_PRESET": "sandbox" },',
      '      "alwaysAllow": ["process_list"]',
      '    }',
      '  }',
      '}',
    );
    const after = add('cursor', before);
    expect(after).toContain('// old');
    expect(after).toContain('"env": { "MCP_SHELL_SECURITY_PRESET": "sandbox" }');
    expect(after).toContain('"alwaysAllow": ["process_list"]');
    expect(after).toContain('"command": "/usr/bin/node"');
    expect(after).not.toContain('/old/');
  });

  test('a byte order mark and the line ends of Windows stay', () => {
    const before = '\ufeff{\r\n    "a": 1\r\n}\r\n';
    const after = add('cursor', before);
    expect(after.startsWith('\ufeff{\r\n    "a": 1,\r\n    "mcpServers": {\r\n')).toBe(true);
    expect(after.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  });

  test('strict JSON stays strict', () => {
    for (const before of [
      '{}',
      '{"mcpServers":{}}',
      '{"mcpServers":{"a":{"command":"b"}},"c":[1,2]}\n',
      ' \n',
    ])
      expect(() => JSON.parse(add('claude-desktop', before)) as unknown, before).not.toThrow();
  });

  const refused: [text: string, reason: RegExp][] = [
    ['{"a": }', /not valid JSON.*line 1/],
    ['{\n"a": 1\n"b": 2}', /not valid JSON.*line 3/],
    ['{"mcpServers": {"a": {}', /not valid JSON/],
    ['[]', /does not hold an object/],
    ['"text"', /does not hold an object/],
    ['null', /does not hold an object/],
    ['{"mcpServers": []}', /"mcpServers" in it is not a table/],
    ['{"mcpServers": null}', /"mcpServers" in it is not a table/],
    ['{"mcpServers": {"shell": "x"}}', /"mcpServers.shell" in it is not a server/],
    ['{"mcpServers": {"shell": {"command": "other"}}}', /another server called "shell"/],
    ['{"mcpServers": {"a": {}}, "mcpServers": {"b": {}}}', /cannot be changed safely/],
    ['<html>', /not valid JSON/],
  ];
  test.for(refused)('%s is left alone', ([text, reason]) => {
    expect(() => add('cursor', text)).toThrow(EditRefused);
    expect(() => add('cursor', text)).toThrow(reason);
  });

  test('another’s entry is not removed, and what is not there needs no removing', () => {
    expect(() => remove('cursor', '{"mcpServers": {"shell": {"command": "other"}}}')).toThrow(
      /that one stays/,
    );
    expect(remove('cursor', '{"mcpServers": {}}')).toBe('{"mcpServers": {}}');
    expect(remove('cursor', '')).toBe('');
  });
});

describe('in TOML', () => {
  const SECTION = lines(
    '[mcp_servers.shell]',
    'command = "/usr/bin/node"',
    'args = ["/opt/mcp-shell-server/dist/cli.js", "--tools", "simple"]',
  );

  test('a new file, and one that is there, with what else is in it', () => {
    expect(add('codex', '')).toBe(SECTION);
    const before = lines('# mine', 'model = "x" # good', '', '[mcp_servers.other]', 'command = "y"');
    expect(add('codex', before)).toBe(`${before}\n${SECTION}`);
    expect(add('codex', before.trimEnd())).toBe(`${before}\n${SECTION}`);
    expect(add('codex', `${before}\n${SECTION}`)).toBe(`${before}\n${SECTION}`);
    expect(remove('codex', `${before}\n${SECTION}`)).toBe(before);
    expect(remove('codex', SECTION).trim()).toBe('');
  });

  test('an entry of ours is changed where it stands, over as many lines as it has', () => {
    const before = lines(
      '[ mcp_servers . "shell" ] # ours',
      '# how it is started',
      'startup_timeout_sec = 20',
      'command = "/old/mcp-shell-server" # old',
      'args = [',
      '  "a", # one',
      '  "]",',
      ']',
      '',
      '[mcp_servers.shell.env]',
      'A = "1"',
      '# of the next',
      '[tui]',
      'theme = "dark"',
    );
    const after = add('codex', before);
    expect(after).toBe(
      lines(
        '[ mcp_servers . "shell" ] # ours',
        '# how it is started',
        'startup_timeout_sec = 20',
        'command = "/usr/bin/node"',
        'args = ["/opt/mcp-shell-server/dist/cli.js", "--tools", "simple"]',
        '',
        '[mcp_servers.shell.env]',
        'A = "1"',
        '# of the next',
        '[tui]',
        'theme = "dark"',
      ),
    );
    expect(remove('codex', `a = 1\n\n${after}`)).toBe(
      lines('a = 1', '', '# of the next', '[tui]', 'theme = "dark"'),
    );
  });

  test('line ends of Windows stay', () => {
    const after = add('codex', '[a]\r\nb = 1\r\n');
    expect(after.startsWith('[a]\r\nb = 1\r\n\r\n[mcp_servers.shell]\r\n')).toBe(true);
    expect(after.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  });

  const refused: [text: string, reason: RegExp][] = [
    ['a = ', /not valid TOML/],
    ['mcp_servers = { other = { command = "x" } }', /not valid TOML|cannot be changed safely/],
    ['mcp_servers = 5', /not a table/],
    ['[mcp_servers.shell]\ncommand = "other"', /another server called "shell"/],
    ['[[mcp_servers]]\nname = "x"', /not a table/],
    ['mcp_servers.shell = { command = "mcp-shell-server" }', /not valid TOML|cannot be/],
    [
      'text = """\n[mcp_servers.shell]\n"""\n[mcp_servers]\nshell = { command = "mcp-shell-server" }',
      /cannot be|not valid/,
    ],
  ];
  test.for(refused)('%s is left alone', ([text, reason]) => {
    expect(() => add('codex', text)).toThrow(EditRefused);
    expect(() => add('codex', text)).toThrow(reason);
  });

  test('a text that looks like a header leaves the file alone', () => {
    const before = lines('help = """', '[mcp_servers.shell]', 'command = "x"', '"""');
    expect(() => add('codex', before)).toThrow(/cannot be changed safely/);
  });
});
