/** What a subcommand is given by the program: it reads no argv, sets no exit code and owns no stream. */
import type { Settings } from '../base/settings.ts';

export interface CommandContext {
  /** Loaded when they are asked for; throws where they are wrong. */
  settings(): Settings;
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  /** Ctrl-C and the like. */
  readonly interrupted: AbortSignal;
  setExitCode(code: number): void;
}
