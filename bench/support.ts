/** A server to be measured, with its memory as the kernel sees it. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createPlace, type Place } from '../test/e2e/support/product.ts';

export interface MeasuredServer {
  readonly pid: number;
  /** The directory it works in. */
  readonly work: string;
  call(name: string, args: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** Resident set of the server's own process, in MiB. */
  residentMib(): number;
  /** The most it ever had. */
  peakMib(): number;
  descriptors(): number;
  /** Resolves when the server has done what it does after its first call: looking around on the disk, say. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export async function startMeasured(
  options: { readonly env?: Record<string, string>; readonly place?: Place } = {},
): Promise<MeasuredServer> {
  const place = options.place ?? createPlace();
  const { command, args, env = {}, cwd } = place.command();
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...env, ...options.env },
    cwd: cwd ?? place.work,
  });
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(transport);
  const status = (field: string): number => {
    const text = readFileSync(`/proc/${transport.pid}/status`, 'utf8');
    return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  };
  return {
    pid: transport.pid ?? 0,
    work: place.work,
    async call(name, callArguments) {
      const { structuredContent } = await client.callTool({ name, arguments: callArguments });
      return structuredContent as Record<string, unknown>;
    },
    residentMib: () => Math.round(status('VmRSS') / 1024),
    peakMib: () => Math.round(status('VmHWM') / 1024),
    descriptors: () => status('FDSize'),
    async settled() {
      for (let ticks = -1, last = -100; ticks - last > 2; await sleep(1000)) {
        last = ticks;
        // After the name, which may have spaces in it, user and system time are fields 12 and 13.
        const fields =
          readFileSync(`/proc/${transport.pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
        ticks = Number(fields[11]) + Number(fields[12]);
      }
    },
    async close() {
      await client.close();
      if (options.place === undefined) place.remove();
    },
  };
}

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
