/** What the sandbox needs of the server. */
import type { Log } from '../../base/log.ts';
import type { Settings } from '../../base/settings.ts';
import type { RunHelper } from './probe.ts';

export interface SandboxOptions {
  readonly settings: Settings;
  readonly runHelper: RunHelper;
  /** The server's own program and what it loads. */
  readonly installation: readonly string[];
  /** The shell that runs commands: it is there even where only allowed programs are. */
  readonly shell: string;
  /** Private, and gone with the server. */
  readonly runDirectory: string;
  readonly log: Log;
}
