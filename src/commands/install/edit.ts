/**
 * A change to a client's file, as text to text. Whatever else stands in it (comments, keys that nobody here knows, the
 * order, the indentation) stays; that it does is checked before anybody writes, by reading the result again and
 * comparing it with what was meant. A file that cannot be changed so is left alone.
 */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../base/objects.ts';
import type { Client, ServerEntry } from './clients.ts';
import { editJson, readJson } from './edit-json.ts';
import { editToml, readToml } from './edit-toml.ts';
import { EditRefused, type Table } from './table.ts';

export interface EditOptions {
  readonly client: Client;
  /** The server's name in the client. */
  readonly name: string;
  /** undefined: the entry goes. */
  readonly entry: ServerEntry | undefined;
  /** With the client's fields that let it call tools without asking. */
  readonly approves?: boolean;
  /** Whether an entry of that name is one of this server's, and not another's. */
  isOurs(entry: Table): boolean;
}

/** The new text; the same one where there is nothing to change. */
export function editFile(text: string, options: EditOptions): string {
  const { client, name, entry } = options;
  const isJson = client.format === 'json';
  const before = isJson ? readJson(text) : readToml(text);
  const found = entryIn(before, client, name);
  if (found !== undefined && !options.isOurs(found)) {
    throw new EditRefused(
      `it has another server called "${name}"; ${entry === undefined ? 'that one stays' : 'choose another name with --name'}`,
    );
  }
  if (entry === undefined && found === undefined) return text;
  if (entry !== undefined && found !== undefined && overHttp(found) !== 'url' in entry)
    throw new EditRefused(
      `"${name}" in it is connected over ${overHttp(found) ? 'HTTP' : 'stdio'}; remove it with --uninstall first`,
    );
  const fields = entry === undefined ? undefined : fieldsOf(entry, found, options);
  const after = (isJson ? editJson : editToml)(text, [client.key, name], fields);
  verify(isJson ? readJson(after) : readToml(after), before, { ...options, fields });
  return after;
}

/** What the file has under that name, ours or not. */
export function findEntry(text: string, client: Client, name: string): Table | undefined {
  return entryIn(client.format === 'json' ? readJson(text) : readToml(text), client, name);
}

function fieldsOf(entry: ServerEntry, found: Table | undefined, options: EditOptions): Table {
  const { client, approves } = options;
  const approval = approves === true ? client.approval?.fields : undefined;
  if ('url' in entry) {
    const fields = client.http?.(entry.url, { Authorization: `Bearer ${entry.token}` });
    if (fields === undefined)
      throw new EditRefused('it accepts no address on this machine; install it without --http');
    return { ...fields, ...approval };
  }
  const { command, args, variables } = entry;
  const known = isObject(found?.['env']) ? found['env'] : {};
  return {
    ...(found === undefined && client.extra),
    command,
    args: [...args],
    ...(variables !== undefined && { env: { ...known, ...variables } }),
    ...approval,
  };
}

const overHttp = (entry: Table): boolean => entry['command'] === undefined;

function verify(result: Table, before: Table, meant: EditOptions & { fields: Table | undefined }): void {
  const { client, name, fields } = meant;
  const servers = { ...(before[client.key] as Table | undefined) };
  if (fields === undefined) delete servers[name];
  else servers[name] = { ...(servers[name] as Table | undefined), ...fields };
  const expected: Record<string, unknown> = { ...before, [client.key]: servers };
  const isSame =
    isDeepStrictEqual(plain(result), plain(expected)) ||
    // In TOML a table without anything in it may not be there at all.
    (Object.keys(servers).length === 0 &&
      isDeepStrictEqual(plain(result), plain(without(expected, client.key))));
  if (!isSame)
    throw new EditRefused('it is written in a way that cannot be changed safely; change it by hand');
}

function entryIn(file: Table, { key }: Client, name: string): Table | undefined {
  const servers = file[key];
  if (servers === undefined) return undefined;
  if (!isObject(servers)) throw new EditRefused(`"${key}" in it is not a table of servers`);
  if (!Object.hasOwn(servers, name)) return undefined;
  const entry = servers[name];
  if (!isObject(entry)) throw new EditRefused(`"${key}.${name}" in it is not a server`);
  return entry;
}

const without = (table: Table, key: string): Table =>
  Object.fromEntries(Object.entries(table).filter(([name]) => name !== key));

/** Both parsers make objects of their own kinds. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
