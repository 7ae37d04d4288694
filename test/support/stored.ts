/** What lies in a state directory, as somebody sees it who only looks. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLog } from '../../src/base/log.ts';
import type { ExecutionRecord } from '../../src/executions/record.ts';
import { createStore } from '../../src/executions/store.ts';

/** Newest first. */
export async function storedExecutions(stateDir: string): Promise<readonly ExecutionRecord[]> {
  const store = createStore({
    directory: join(stateDir, 'executions'),
    log: silentLog,
    isInstanceAlive: () => false,
  });
  await store.scan(
    () => undefined,
    () => undefined,
  );
  return store.summaries().flatMap(({ id }) => store.read(id) ?? []);
}

export async function storedExecution(stateDir: string, id: string): Promise<ExecutionRecord> {
  const found = (await storedExecutions(stateDir)).find((record) => record.id === id);
  if (found === undefined) throw new Error(`there is no execution ${id}`);
  return found;
}

/** Lines of the audit log, of one event or all. */
export function auditLines(stateDir: string, event?: string): Record<string, unknown>[] {
  const directory = join(stateDir, 'audit');
  return readdirSync(directory)
    .flatMap((name) => readFileSync(join(directory, name), 'utf8').trimEnd().split('\n'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => event === undefined || line['event'] === event);
}
