/**
 * Which TCP ports the processes of an execution listen on. Read from /proc of the execution's own network namespace;
 * nothing is ever connected to, and a port of another process does not count.
 */
import { readFileSync } from 'node:fs';
import { attempt } from '../../base/attempt.ts';
import type { Live } from '../live.ts';
import { holdsOpen } from '../process-table.ts';
import { readNetworkNamespace } from '../transfers.ts';

export type Listeners = ReturnType<typeof createListeners>;

/** The sockets that listen, by port, as descriptors link to them. */
type Table = ReadonlyMap<number, ReadonlySet<string>>;

interface Inside {
  readonly pid: number;
  readonly namespace: string;
  readonly seenAt: number;
}

/** Looks that come together read a table once. */
const TABLE_MS = 15;
const INSIDE_MS = 500;

export function createListeners() {
  const tables = new Map<string, { readonly table: Table; readonly readAt: number }>();
  const insides = new WeakMap<Live, Inside>();
  const ours = readNetworkNamespace('self');

  function insideOf(live: Live): Inside | undefined {
    const now = performance.now();
    const known = insides.get(live);
    if (known !== undefined && now - known.seenAt < INSIDE_MS) return known;
    for (const pid of commandPids(live)) {
      const namespace = readNetworkNamespace(pid);
      if (namespace === undefined) continue;
      const inside = { pid, namespace, seenAt: now };
      insides.set(live, inside);
      return inside;
    }
    insides.delete(live);
    return undefined;
  }

  function tableOf({ pid, namespace }: Inside): Table {
    const now = performance.now();
    const known = tables.get(namespace);
    if (known !== undefined && now - known.readAt < TABLE_MS) return known.table;
    for (const [name, { readAt }] of tables) if (now - readAt >= TABLE_MS) tables.delete(name);
    const table = readTable(pid);
    tables.set(namespace, { table, readAt: now });
    return table;
  }

  return {
    /** Whether the execution listens on this port; undefined where that cannot be known. */
    isListening(live: Live, port: number): boolean | undefined {
      const inside = insideOf(live);
      if (inside === undefined || ours === undefined) return undefined;
      const sockets = tableOf(inside).get(port);
      if (sockets === undefined) return false;
      // Nobody else is in a namespace of its own.
      return inside.namespace !== ours || commandPids(live).some((pid) => holdsOpen(pid, sockets));
    },
    /** Whether the execution has a network of its own; undefined where that cannot be known. */
    hasOwnNetwork(live: Live): boolean | undefined {
      const inside = insideOf(live);
      return inside === undefined || ours === undefined ? undefined : inside.namespace !== ours;
    },
  };
}

/** Its processes without those of the sandbox, which are outside. */
export function commandPids({ tree }: Live): number[] {
  return tree
    .members()
    .filter((entry) => !tree.isBubblewrap(entry))
    .map(({ pid }) => pid);
}

const LISTEN = '0A';

function readTable(pid: number): Table {
  const table = new Map<number, Set<string>>();
  for (const name of ['tcp', 'tcp6']) {
    const text = attempt(() => readFileSync(`/proc/${pid}/net/${name}`, 'latin1')) ?? '';
    for (const row of text.split('\n').slice(1)) {
      const [, local = '', , state, , , , , , inode] = row.trim().split(/\s+/, 10);
      if (state !== LISTEN || inode === undefined) continue;
      const port = Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16);
      table.set(port, (table.get(port) ?? new Set()).add(`socket:[${inode}]`));
    }
  }
  return table;
}
