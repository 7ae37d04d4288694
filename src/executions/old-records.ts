/** What versions before the journal left: a record beside the output of each execution, and a register of terminals. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { readJson } from '../base/attempt.ts';
import { listIds, makePrivateDirectory } from '../base/files.ts';
import { renameId } from '../base/ids.ts';
import { type ExecutionRecord, parseRecord } from './record.ts';

/** Where the record of a bundle was. */
export const OLD_RECORD = 'record.json';

export function readOldRecord(directory: string): ExecutionRecord | undefined {
  return parseRecord(readJson(join(directory, OLD_RECORD)));
}

/** With their directories: from then on they are executions like others, concluded by the server that adopts them. */
export function moveOldTerminals(directory: string, isInstanceAlive: (instance: string) => boolean): void {
  const terminals = join(directory, '..', 'terminals');
  for (const name of listIds(terminals, 'term')) {
    const record = readOldTerminal(join(terminals, name));
    if (record?.id !== renameId(name, 'exec') || isInstanceAlive(record.instance)) continue;
    makePrivateDirectory(directory);
    try {
      renameSync(join(terminals, name), join(directory, record.id));
      writeFileSync(join(directory, record.id, OLD_RECORD), JSON.stringify(record), { mode: 0o600 });
    } catch {
      // Another server was faster.
    }
  }
}

const oldTerminalSchema = z
  .object({
    id: z.string(),
    owner: z.string(),
    instance: z.string(),
    sessionName: z.string(),
    shell: z.string(),
    createdAtMs: z.number(),
    marker: z.string(),
    autoSaves: z.boolean(),
  })
  .transform(({ id, sessionName, shell, autoSaves, ...about }) => ({
    ...about,
    format: 1,
    id: renameId(id, 'exec'),
    command: shell,
    mode: 'terminal',
    directory: '',
    defaultDirectory: '',
    environment: {},
    terminal: { sessionName, shell, autoSaves },
    streams: ['log', 'cast'],
  }));

function readOldTerminal(directory: string): ExecutionRecord | undefined {
  return parseRecord(oldTerminalSchema.safeParse(readJson(join(directory, OLD_RECORD))).data);
}
