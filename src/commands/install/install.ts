/**
 * `mcp-shell-server install <client>`: writes this server into a client's settings, after showing what changes. Nothing
 * is written that could not be checked, and what was there is kept as a backup.
 */
import { existsSync } from 'node:fs';
import { ShellServerError } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { CLIENTS, type Client, findClient, type Machine, type ServerEntry } from './clients.ts';
import { editFile } from './edit.ts';
import { type FoundFile, readFile, replaceFile } from './replace-file.ts';
import { showChange } from './show-change.ts';
import { EditRefused, type Table } from './table.ts';

export interface InstallOptions {
  readonly clients: readonly Client[];
  readonly machine: Machine;
  readonly entry: ServerEntry;
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
  if (all === (id !== undefined)) {
    throw new ShellServerError('PARAM_002', 'Name one client, or all that are found with --all.', {
      hint: `The clients: ${CLIENTS.map((client) => client.id).join(', ')}.`,
    });
  }
  if (id === undefined) return foundClients(machine);
  const client = findClient(id);
  if (client !== undefined) return [client];
  const ids = CLIENTS.map((each) => each.id);
  const meant = nearest(id, ids);
  throw new ShellServerError('PARAM_002', `There is no client ${JSON.stringify(id)}.`, {
    hint: `${meant === undefined ? '' : `Did you mean ${meant}? `}The clients: ${ids.join(', ')}.`,
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
  try {
    return /mcp-shell-server|dist[\\/]+cli\.js/.test(readFile(client.file(machine)).text);
  } catch {
    return false;
  }
}

async function installOne(client: Client, options: InstallOptions): Promise<boolean> {
  const { entry, name, uninstalls, isDryRun, say } = options;
  const path = client.file(options.machine);
  try {
    const found = readFile(path);
    const after = editFile(found.text, {
      client,
      name,
      entry: uninstalls ? undefined : entry,
      isOurs: (other) => isOurs(other, entry),
    });
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
    const backup = replaceFile(found, after, options.now());
    const done = uninstalls ? 'Removed.' : 'Written.';
    const next = uninstalls ? `Restart ${client.title} to see the change.` : client.note;
    say(`${done}${backup === undefined ? '' : ` What was there is in ${backup}.`} ${next}\n\n`);
    return true;
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === undefined) throw error;
    say(`${client.title}: ${path} was left as it is: ${reason}.\n`);
    return false;
  }
}

const describe = (typed: string, { path }: FoundFile): string =>
  typed === path ? path : `${typed} (${path})`;

/** What a person can do something about. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof EditRefused) return error.message;
  const { code, syscall } = error as NodeJS.ErrnoException;
  return code === undefined || syscall === undefined ? undefined : `${syscall}: ${code}`;
}

/** It starts this very program, or one of this name. */
function isOurs(other: Table, entry: ServerEntry): boolean {
  const words = [other['command'], ...(Array.isArray(other['args']) ? other['args'] : [])];
  const [program = ''] = entry.args;
  return words.some(
    (word) =>
      typeof word === 'string' && (word === program || /(?:^|[\\/])mcp-shell-server(?:$|[\\/@])/.test(word)),
  );
}
