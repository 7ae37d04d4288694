/** What building a sandbox needs. */
import type { BubblewrapSpec, Limits } from '../security/security.ts';
import type { Cgroups } from './cgroups/cgroups.ts';
import type { Pipes } from './pipes.ts';
import type { ShellSpec } from './prestarted-shell.ts';
import type { Spawner } from './spawner.ts';

/** By which changes are noticed: what is mounted later is shown inside in another way than it should. */
export interface MountTables {
  host(): string;
  /** What counts of the one inside. */
  seen(inside: string): string;
}

export interface SandboxTools {
  readonly pipes: Pipes;
  readonly cgroups: Cgroups;
  readonly spawner: Spawner;
  readonly tables?: MountTables;
  now(): number;
}

/** All that a sandbox depends on; the command and its directory are handed off later. */
export interface SandboxRequest {
  readonly sandboxSpec: BubblewrapSpec;
  readonly limits: Limits;
  /** A terminal instead of pipes. */
  readonly terminal?: string | undefined;
  /** A shell that has everything but its command, where it is a copy, and how many processes it may have. */
  readonly shell?: ShellSpec | undefined;
  readonly maxProcesses?: number | undefined;
  /** What it is found by where its server is killed. */
  readonly marked: Readonly<Record<string, string>>;
}
