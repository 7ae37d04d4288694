/** Whether this machine can have terminals, found out by starting the process that holds them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import { startHost } from './hosts.ts';

/** What is in the way; undefined where nothing is. */
export async function probeTerminals(program: string): Promise<string | undefined> {
  const directory = mkdtempSync(join(tmpdir(), 'mcp-shell-probe-'));
  try {
    const host = await startHost({ program, directory, graceMs: 0 });
    await host.end();
    return undefined;
  } catch (error) {
    return messageOf(error);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
