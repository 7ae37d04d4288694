/** The program in a terminal: started behind its sandbox, and found there. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type createCgroups,
  type createPipes,
  type createSpawner,
  findProcess,
  type Launched,
  launch,
  listChildren,
} from '../../executions/processes.ts';
import type { TerminalSpec } from '../protocol.ts';
import type { Program } from './foreground.ts';

export function startProcess(
  spec: TerminalSpec,
  terminal: string,
  tools: {
    readonly pipes: ReturnType<typeof createPipes>;
    readonly spawner: ReturnType<typeof createSpawner>;
    readonly cgroups: ReturnType<typeof createCgroups>;
  },
): Promise<Launched> {
  const { timeoutMs } = spec;
  return launch(
    spec.id,
    spec.permit,
    { streams: [], openSinks: () => new Map(), inputData: undefined, keepsState: false, timeoutMs, terminal },
    { ...tools, now: Date.now },
  );
}

/** The program itself; a sandbox has two processes of its own before it. */
export async function findShell(
  { identity }: Launched,
  { sandboxSpec, argv }: TerminalSpec['permit'],
): Promise<Program> {
  const { pid } = identity;
  if (sandboxSpec?.kind !== 'bubblewrap') return { shell: pid, root: pid, argv };
  for (let looks = 0; looks < MAX_LOOKS && findProcess(pid)?.isZombie === false; looks++) {
    const init = listChildren(pid)?.[0];
    const command = init === undefined ? undefined : listChildren(init)?.[0];
    if (init !== undefined && command !== undefined) return { shell: command, root: init, argv };
    await sleep(LOOK_MS);
  }
  return { shell: pid, root: pid, argv };
}

/** The program is there a moment after the sandbox has been passed. */
const LOOK_MS = 2;
const MAX_LOOKS = 2000;
