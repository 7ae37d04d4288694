/**
 * `mcp-shell-server install <client>`: writes this server into a client's settings, after showing what changes. Nothing
 * is written that could not be checked, and what was there is kept as a backup.
 */
import { existsSync } from 'node:fs';
import { attempt } from '../../base/attempt.ts';
import { ShellServerError } from '../../base/errors.ts';
import { didYouMean } from '../../base/nearest.ts';
import { isObject } from '../../base/objects.ts';
import { TOKEN_PREFIX } from '../../security/tokens/tokens.ts';
import { wrapText } from '../paint.ts';
import { CLIENTS, type Client, findClient, type Machine, type ServerEntry } from './clients.ts';
import { editFile, findEntry } from './edit.ts';
import { type FoundFile, readFile, replaceFile } from './replace-file.ts';
import { showChange } from './show-change.ts';
import { EditRefused, type Table } from './table.ts';

export interface InstallOptions {
  readonly clients: readonly Client[];
  readonly machine: Machine;
  /** Over HTTP with a placeholder for the token, which is created when the change is accepted. */
  readonly entry: ServerEntry;
  /** The path of this program, by which an entry of ours is known. */
  readonly program: string;
  createToken?(client: Client): Promise<string>;
  /** Whether to let clients call the tools without asking, where that must be set. */
  readonly approval: 'write' | 'ask' | 'leave';
  readonly name: string;
  readonly uninstalls: boolean;
  readonly isDryRun: boolean;
  /** Prints what a person should read. */
  say(text: string): void;
  /** Whether the change may be made; asked once for each file, after it was shown. */
  confirm(question: string): Promise<boolean>;
  now(): number;
}

/** False where a file was left as it is though it should have changed. */
export async function install(options: InstallOptions): Promise<boolean> {
  let isGood = true;
  for (const client of options.clients) isGood = (await installOne(client, options)) && isGood;
  return isGood;
}

/** The clients that are meant: one by its name, or all that are on this machine. */
export function chooseClients(id: string | undefined, all: boolean, machine: Machine): readonly Client[] {
  const ids = CLIENTS.map((each) => each.id);
  const known = `The clients: ${ids.join(', ')}.`;
  if (all === (id !== undefined)) {
    throw new ShellServerError('PARAM_002', 'Name one client, or all that are found with --all.', {
      hint: known,
    });
  }
  if (id === undefined) return foundClients(machine);
  const client = findClient(id);
  if (client !== undefined) return [client];
  throw new ShellServerError('PARAM_002', `There is no client ${JSON.stringify(id)}.`, {
    hint: didYouMean(id, ids, (meant) => `Did you mean ${meant}? `) + known,
  });
}

/** Those of which there is a trace. */
export function foundClients(machine: Machine): readonly Client[] {
  return CLIENTS.filter((client) =>
    [client.file(machine), ...client.traces(machine)].some((path) => existsSync(path)),
  );
}

/** Whether this server, of wherever, stands in the client's file under any name. */
export function isInstalled(client: Client, machine: Machine): boolean {
  const text = attempt(() => readFile(client.file(machine)).text) ?? '';
  return /mcp-shell-server|dist[\\/]+cli\.js|mcpsh_/.test(text);
}

async function installOne(client: Client, options: InstallOptions): Promise<boolean> {
  const { name, uninstalls, isDryRun, say } = options;
  const path = client.file(options.machine);
  try {
    const found = readFile(path);
    const edit = (entry: ServerEntry, approves: boolean): string =>
      editFile(found.text, {
        client,
        name,
        entry: uninstalls ? undefined : entry,
        approves,
        isOurs: recognise,
      });
    const recognise = (other: Table): boolean => isOurs(other, options.program);
    // What cannot be written is refused before anything is asked.
    edit(options.entry, false);
    const approves = !uninstalls && (await decideApproval(client, found.text, options));
    const after = edit(options.entry, approves);
    if (after === found.text) {
      say(
        uninstalls
          ? `${client.title}: no server "${name}" of this program is in ${path}.\n`
          : `${client.title}: nothing to change in ${path}.\n`,
      );
      return true;
    }
    say(
      `${client.title}: ${found.about === undefined ? 'a new file' : 'a change in'} ${describe(path, found)}\n`,
    );
    say(`${showChange(found.text, after)}\n`);
    if (isDryRun) return true;
    if (!(await options.confirm(uninstalls ? 'Remove it?' : 'Write this?'))) {
      say('Nothing was written.\n');
      return false;
    }
    const entry = uninstalls ? options.entry : await withToken(client, options);
    const backup = replaceFile(found, edit(entry, approves), options.now());
    const done = uninstalls ? 'Removed.' : 'Written.';
    say(`${done}${backup === undefined ? '' : ` What was there is in ${backup}.`}\n`);
    say(`${wrapText(nextStep(client, found.text, options), 80).join('\n')}\n\n`);
    return true;
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    say(`${client.title}: ${path} was left as it is: ${reason}.\n`);
    return false;
  }
}

function nextStep(client: Client, before: string, { entry, name, uninstalls }: InstallOptions): string {
  if (!uninstalls)
    return 'url' in entry
      ? `The server must be running: mcp-shell-server --http. ${client.note}`
      : client.note;
  const token = before.includes(TOKEN_PREFIX)
    ? ` Its token stays valid: revoke it with mcp-shell-server token revoke ${tokenName(client, name)}.`
    : '';
  return `Restart ${client.title} to see the change.${token}`;
}

export const tokenName = (client: Client, name: string): string => `${client.id}-${name}`;

/** Whether the client may call our tools without asking: said first, and never without a yes of its own. */
async function decideApproval(client: Client, text: string, options: InstallOptions): Promise<boolean> {
  const { approval } = client;
  const found = findEntry(text, client, options.name) ?? {};
  // Where the person has set it, it is theirs.
  if (approval === undefined || Object.keys(approval.fields).some((field) => field in found)) return false;
  options.say(`${wrapText(approval.about, 80).join('\n')}\n`);
  if (options.approval === 'write') return true;
  if (options.approval === 'ask')
    return options.confirm(`Let ${client.title} call these tools without asking?`);
  options.say('It is left as it is; --approve-tools writes it.\n');
  return false;
}

async function withToken(client: Client, { entry, createToken }: InstallOptions): Promise<ServerEntry> {
  return 'url' in entry && createToken !== undefined ? { ...entry, token: await createToken(client) } : entry;
}

const describe = (typed: string, { path }: FoundFile): string =>
  typed === path ? path : `${typed} (${path})`;

/** What a person can do something about. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof EditRefused) return error.message;
  const { code, syscall } = error as NodeJS.ErrnoException;
  return code === undefined || syscall === undefined ? undefined : `${syscall}: ${code}`;
}

/** It starts a program of this name, or has one of our tokens. */
function isOurs(other: Table, program: string): boolean {
  const headers = [other['headers'], other['http_headers']].flatMap((table) =>
    isObject(table) ? Object.values(table) : [],
  );
  if (headers.some((value) => typeof value === 'string' && value.startsWith(`Bearer ${TOKEN_PREFIX}`)))
    return true;
  const words = [other['command'], ...(Array.isArray(other['args']) ? other['args'] : [])];
  return words.some(
    (word) =>
      typeof word === 'string' && (word === program || /(?:^|[\\/])mcp-shell-server(?:$|[\\/@])/.test(word)),
  );
}
