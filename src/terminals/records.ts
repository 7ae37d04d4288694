/** A terminal as it lies on disk, in a directory of its own: who opened it, and in the end how it ended. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileWhole } from '../base/files.ts';
import { isId } from '../base/ids.ts';
import { type Outcome, outcomeSchema } from '../executions/processes.ts';
import { OUTCOME } from './protocol.ts';

const recordSchema = z.object({
  format: z.literal(1),
  id: z.string(),
  owner: z.string(),
  /** The server that is responsible for it. */
  instance: z.string(),
  sessionName: z.string(),
  shell: z.string(),
  createdAtMs: z.number(),
  /** Everything that was started in it carries this in its environment. */
  marker: z.string(),
  autoSaves: z.boolean(),
});
export type TerminalRecord = Readonly<z.infer<typeof recordSchema>>;

const RECORD = 'record.json';

export function writeTerminalRecord(directory: string, record: TerminalRecord): void {
  writeFileWhole(join(directory, RECORD), JSON.stringify(record));
}

export function readOutcomeIn(directory: string): Outcome | undefined {
  return readJson(join(directory, OUTCOME), outcomeSchema);
}

/** All there are; what cannot be read is none. */
export function listRecords(
  parent: string,
): { readonly record: TerminalRecord; readonly directory: string }[] {
  let names: string[];
  try {
    names = readdirSync(parent);
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    if (!isId('term', name)) return [];
    const directory = join(parent, name);
    const record = readJson(join(directory, RECORD), recordSchema);
    return record === undefined || record.id !== name ? [] : [{ record, directory }];
  });
}

function readJson<Value>(path: string, schema: z.ZodType<Value>): Value | undefined {
  try {
    return schema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return undefined;
  }
}
