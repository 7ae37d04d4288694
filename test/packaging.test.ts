/** What package formats and registries say about this server: one name, one version, and the shape that each demands. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { INSTALL_LINKS } from '../scripts/install-links.ts';
import { PRESET_NAMES } from '../src/base/config/presets.ts';
import { ROOT } from './support/root.ts';

const readText = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const readJson = (path: string): unknown => JSON.parse(readText(path));

const own = z
  .object({ name: z.string(), version: z.string(), mcpName: z.string(), license: z.string() })
  .parse(readJson('package.json'));

describe('server.json', () => {
  /** What the registry's schema of 2025-12-11 demands of the fields that are used here; unknown ones are mistakes. */
  const Variable = z.strictObject({
    name: z.string(),
    description: z.string(),
    format: z.enum(['string', 'number', 'boolean', 'filepath']).optional(),
    default: z.string().optional(),
    choices: z.array(z.string()).optional(),
  });
  const ServerJson = z.strictObject({
    $schema: z.literal('https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'),
    name: z
      .string()
      .max(200)
      .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
    title: z.string().min(1).max(100),
    description: z.string().min(1).max(100),
    version: z.string().max(255),
    websiteUrl: z.url(),
    repository: z.strictObject({ url: z.url(), source: z.literal('github') }),
    packages: z.array(
      z.strictObject({
        registryType: z.literal('npm'),
        identifier: z.string(),
        version: z.string().regex(/^\d+\.\d+\.\d+/),
        runtimeHint: z.literal('npx'),
        transport: z.strictObject({ type: z.literal('stdio') }),
        environmentVariables: z.array(Variable),
      }),
    ),
  });
  const server = ServerJson.parse(readJson('server.json'));

  test('names the package by which npm knows it, in this version', () => {
    expect(server.name).toBe(own.mcpName);
    expect([server.version, ...server.packages.map(({ version }) => version)]).toEqual([
      own.version,
      own.version,
    ]);
    expect(server.packages[0]?.identifier).toBe(own.name);
  });

  test('offers the presets that there are', () => {
    const preset = server.packages[0]?.environmentVariables.find(({ name }) => name.endsWith('PRESET'));
    expect(preset?.choices).toEqual([...PRESET_NAMES]);
    expect(preset?.default).toBe(PRESET_NAMES[0]);
  });
});

test('the manifest of the MCPB bundle is about this version and names every preset', () => {
  const manifest = z
    .object({
      name: z.string(),
      version: z.string(),
      license: z.string(),
      user_config: z.object({ preset: z.object({ description: z.string(), default: z.string() }) }),
    })
    .parse(readJson('packaging/mcpb/manifest.json'));
  expect(manifest).toMatchObject(z.object({ name: z.string(), version: z.string() }).parse(own));
  const { preset } = manifest.user_config;
  expect(PRESET_NAMES.filter((name) => !preset.description.includes(name))).toEqual([]);
  expect(preset.default).toBe('development');
});

describe('the links of the README', () => {
  const readme = readText('README.md');

  test.each(Object.entries(INSTALL_LINKS))('for %s starts the package', (_, link) => {
    expect(readme).toContain(link);
    const config = new URL(link).searchParams.get('config') ?? '';
    const text = config.startsWith('{') ? config : Buffer.from(config, 'base64').toString();
    expect(JSON.parse(text)).toEqual({ command: 'npx', args: ['-y', own.name] });
  });
});

test('the Dockerfile, compose.yaml and the label of the image carry the same names', () => {
  const dockerfile = readText('Dockerfile');
  expect(dockerfile).toContain(`io.modelcontextprotocol.server.name="${own.mcpName}"`);
  expect(dockerfile).toMatch(/^ARG BASE=node:\d+\.\d+\.\d+-bookworm-slim$/m);
  expect(readText('compose.yaml')).toMatch(/^ {4}image: mcp-shell-server$/m);
});

/** By these, a library is recognised in a bundle. */
const HEAVY = {
  zod: '_zod',
  unbash: 'CompoundList',
  'the SDK': 'JSONRPCMessageSchema',
  commander: 'InvalidArgumentError',
  'the page': 'x-shell-key',
};

test('a start loads none of the libraries that only calls and subcommands need', () => {
  const loaded = new Map<string, string>();
  const load = (path: string): void => {
    if (loaded.has(path)) return;
    const text = readFileSync(join(ROOT, 'dist', path), 'utf8');
    loaded.set(path, text);
    // Static imports only: `import(…)` has become `$later(…)`.
    for (const [, name = ''] of text.matchAll(/\bload\("\.\/(?:chunks\/)?([\w-]+\.js)"\)/g))
      load(`chunks/${name}`);
  };
  load('cli.js');
  const text = [...loaded.values()].join('');
  expect(loaded.size).toBeGreaterThan(2);
  expect(Object.entries(HEAVY).filter(([, sign]) => text.includes(sign))).toEqual([]);
});

test('the first load of the operator’s page is small, and the terminal is not in it', () => {
  const page = join(ROOT, 'dist/page');
  const first = ['index.html', 'page.css', 'page.js'];
  for (const name of first)
    for (const [, other = ''] of readFileSync(join(page, name), 'utf8').matchAll(
      /\bfrom\s*"\.\/([\w-]+\.js)"/g,
    ))
      if (!first.includes(other)) first.push(other);
  const bytes = first.map((name) => gzipSync(readFileSync(join(page, name))).length);
  expect(first.filter((name) => name.startsWith('xterm'))).toEqual([]);
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(300_000);
});
