/**
 * The permit: the only thing that a process can be started from. It holds the final argv, environment and directory;
 * nothing is edited afterwards. Only authorize.ts issues one.
 */
import type { Environment } from './environment.ts';
import type { SandboxSpec } from './sandbox/profile.ts';

declare const issued: unique symbol;

export interface LaunchPermit {
  readonly [issued]: true;
  readonly argv: readonly string[];
  /** Without the marker. */
  readonly environment: Environment;
  /** Absolute, real, existing when it was checked. */
  readonly directory: string;
  /** "NAME=value", which goes with `environment`: by it everything the execution started is found again. */
  readonly marker: string;
  /** The policy's own time limit, if it has one. */
  readonly maxDurationMs: number | undefined;
  /** What it runs behind; undefined: nothing. */
  readonly sandboxSpec: SandboxSpec | undefined;
  readonly limits: Limits;
  /** Lists decide which commands run. */
  readonly hasLists: boolean;
  /** Of a terminal: variables of the call and its session, without which its shell would have others. Null: none. */
  readonly given: Readonly<Record<string, string | null>>;
  /** Values that must not be in what it prints. */
  readonly masked: readonly string[];
}

/** Of the whole tree, but for the size of a file. */
export interface Limits {
  readonly memoryBytes?: number | undefined;
  readonly processes?: number | undefined;
  readonly cpuPercent?: number | undefined;
  readonly cpuSeconds?: number | undefined;
  readonly fileBytes?: number | undefined;
}

/** For authorize.ts alone. */
export function issuePermit(content: Omit<LaunchPermit, typeof issued>): LaunchPermit {
  return Object.freeze(content) as LaunchPermit;
}
