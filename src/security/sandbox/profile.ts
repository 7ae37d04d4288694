/**
 * What a command finds around it, as plain data: from this bwrap.ts makes options and seatbelt.ts a profile. The code that
 * builds one has looked at the host already; nothing in here touches it.
 */

/** In order: a later mount covers an earlier one. Paths are absolute. */
export type Mount =
  /** The host's file or directory, as it is there. */
  | { readonly kind: 'readable' | 'writable'; readonly path: string; readonly from?: string }
  /** An empty directory of the execution's own, in memory. */
  | { readonly kind: 'memory'; readonly path: string; readonly bytes?: number | undefined }
  /** A directory with nothing in it but what is mounted below it, and that nobody can put anything into. */
  | { readonly kind: 'empty'; readonly path: string }
  /** A file of which nothing can be read. */
  | { readonly kind: 'blank'; readonly path: string }
  | { readonly kind: 'link'; readonly path: string; readonly target: string };

export interface Profile {
  /** The host's root, read-only, or one that is empty but for the mounts. */
  readonly root: 'host' | 'empty';
  readonly mounts: readonly Mount[];
  /** Mount points inside writable directories, and what must be found there: a path, or nothing of the host's. */
  readonly pinned: readonly PinnedMount[];
  /** Of those, what would be open to a command if the mount were gone. */
  readonly kept: readonly string[];
  /** Where a command can write of the host's files, but for /tmp. */
  readonly writable: readonly string[];
  readonly network: boolean;
  /** The kernel's settings are read-only. */
  readonly coversProc: boolean;
  /** Parts and files of /proc that tell or change too much; those of them that this kernel has. */
  readonly procTrees: readonly string[];
  readonly procFiles: readonly string[];
  readonly shmBytes: number;
}

export interface PinnedMount {
  readonly path: string;
  readonly source: string | undefined;
}

/** A path, and where it led: undefined where there was nothing. */
export interface WatchedPath {
  readonly path: string;
  readonly link: string | undefined;
  /** What was there: another one in its place is as good as a new one. */
  readonly identity?: string | undefined;
  /** The nearest directory that was there: as long as it has not changed, neither has this. */
  readonly around?: Around | undefined;
  /** Of a directory: entries with such names that were not there. */
  readonly among?: { readonly pattern: string; readonly known: readonly string[] };
  /**
   * What is looked for there instead: whether it has become a git directory itself, or has one that an index names already,
   * or which other repositories than these its index names.
   */
  readonly repository?: 'itself' | 'named' | readonly string[] | undefined;
}

export interface Around {
  readonly path: string;
  readonly stamp: string;
}

/** Around a command; plain data, since the wrapper of a detached execution gets it as JSON. */
export interface BubblewrapSpec {
  readonly kind: 'bubblewrap';
  readonly program: string;
  /** Read by bwrap from a descriptor: its own argv can be seen from inside. */
  readonly options: readonly string[];
  /** The compiled filter, in base64. */
  readonly seccomp: string | undefined;
  readonly pinned: readonly PinnedMount[];
  /** Mount points that must stay mounted while the command runs. */
  readonly kept: readonly string[];
  /** What must not appear while the command runs. */
  readonly watched: readonly WatchedPath[];
}

export interface SeatbeltSpec {
  readonly kind: 'seatbelt';
  readonly program: string;
  readonly profile: string;
}

export type SandboxSpec = BubblewrapSpec | SeatbeltSpec;

/** Where the start-up files of a terminal's shell are inside. */
export const SCRIPTS_PLACE = '/run/mcp-shell-terminal';

/**
 * The descriptors that bwrap is started with. 3 is a session's state; the shell inside says on `report` that it is there,
 * and reads the command from `handoff`, which may read from `input`.
 */
export const SANDBOX_FDS = { options: 4, seccomp: 5, report: 6, handoff: 7, input: 8, empty: 9 } as const;

/** Inside, by which a script can tell that it is in the sandbox. */
export const SANDBOX_FILE = '/run/.mcp-shell-sandbox';
