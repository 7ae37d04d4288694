/** A server over stdio and plain lines: no client library whose own cost would be measured too. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface Result {
  readonly content: readonly { readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
}

export interface LineClient {
  /** From its start to the answer of tools/list. */
  readonly coldMs: number;
  call(name: string, args?: object): Promise<Result>;
  /** Of the server and what it runs, while it lives; in milliseconds. */
  cpuMs(): number;
  residentMib(): number;
  peakMib(): number;
  close(): Promise<void>;
}

export async function openServer(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
  clientName = 'compare',
): Promise<LineClient> {
  const home = mkdtempSync(join(tmpdir(), 'compare-'));
  const [file = '', ...args] = argv;
  const began = performance.now();
  const child = spawn(file, args, {
    cwd: home,
    env: { PATH: process.env['PATH'], HOME: home, SHELL: '/bin/bash', LANG: 'C.UTF-8', ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const waiting = new Map<number, (result: Result) => void>();
  let lastId = 0;
  createInterface({ input: child.stdout, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => {
    const { id, result } = JSON.parse(line) as { id?: number; result?: Result };
    if (id === undefined || result === undefined) return;
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  const request = (method: string, params: object): Promise<Result> =>
    new Promise((resolve) => {
      const id = ++lastId;
      waiting.set(id, resolve);
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  await request('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: clientName, version: '1' },
  });
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
  await request('tools/list', {});
  const coldMs = performance.now() - began;
  const processes = (): number[] => treeOf(child.pid ?? 0);
  const sum = (of: (pid: number) => number): number => processes().reduce((total, pid) => total + of(pid), 0);
  return {
    coldMs,
    call: (name, args_ = {}) => request('tools/call', { name, arguments: args_ }),
    cpuMs: () => sum(cpuOf),
    residentMib: () => sum((pid) => fieldOf(pid, 'VmRSS')) / 1024,
    peakMib: () => sum((pid) => fieldOf(pid, 'VmHWM')) / 1024,
    async close() {
      child.stdin.end();
      await ended;
      rmSync(home, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

function treeOf(pid: number): number[] {
  const found = [pid];
  for (const each of found) {
    for (const thread of list(`/proc/${each}/task`)) {
      const children = read(`/proc/${each}/task/${thread}/children`).split(' ');
      found.push(...children.filter((child) => child !== '').map(Number));
    }
  }
  return found;
}

const cpuOf = (pid: number): number =>
  list(`/proc/${pid}/task`).reduce(
    (total, thread) => total + Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]) / 1e6,
    0,
  );

const fieldOf = (pid: number, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(read(`/proc/${pid}/status`))?.[1] ?? 0);

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
