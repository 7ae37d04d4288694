/** What a profile is built from. */
import type { SecuritySettings } from '../../base/settings.ts';
import type { GitLayout } from './git-layout.ts';
import type { Mount } from './profile.ts';

export interface ProfileInput {
  readonly security: SecuritySettings;
  readonly homedir: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The server's own: state, settings files and audit log. Never there, whatever else is said. */
  readonly ownPaths: readonly string[];
  /** The server's program: never writable. */
  readonly installation: readonly string[];
  /** Credentials and the like; see `findPrivatePaths`. */
  readonly privatePaths: readonly string[];
  /** Sockets and FIFOs outside the workspace, by which a command could reach a process of the host. */
  readonly specialFiles: readonly string[];
  /** The git directories of the workspace, and what of them is obeyed outside. */
  readonly git: GitLayout;
  /** Git directories of the workspace that lie outside of it. */
  readonly gitDirectories: readonly string[];
  /** The host's directory that is /tmp inside; undefined: memory. */
  readonly tmpDirectory: string | undefined;
  /** Copies of files in the home directory without the secrets in them: where they belong, and where the copy is. */
  readonly redacted: ReadonlyMap<string, string>;
  /** What there is of the system, where not all of the host's root is shown. */
  readonly systemRoot: readonly Mount[];
  /** A file of ours with nothing in it, shown instead of one that is hidden; without one it cannot be opened. */
  readonly emptyFile: string | undefined;
  /** What is obeyed in a home directory that can be written to, besides its entries with a dot; see `obeyedBesidesDots`. */
  readonly besidesDots: readonly string[];
  /** Where copies of many small files are kept, so that one mount does for all; undefined: none are made. */
  readonly copies: string | undefined;
  /** Root owns files of /proc that its commands could change though they have no capabilities. */
  readonly isRoot: boolean;
  /** The socket of the proxy behind which the allowed domains are. */
  readonly proxySocket: string | undefined;
  /** The directory of the program that asks for passwords; see askpass.ts. */
  readonly askpassDirectory: string | undefined;
}

/** What is made for a command: files of the state directory, and sockets. */
export type Written = Pick<
  ProfileInput,
  'redacted' | 'emptyFile' | 'copies' | 'proxySocket' | 'askpassDirectory'
>;

export const NOTHING_WRITTEN: Written = {
  redacted: new Map(),
  emptyFile: undefined,
  copies: undefined,
  proxySocket: undefined,
  askpassDirectory: undefined,
};
