/** One row of the gadget tables. */

type Effect =
  | 'runs a program'
  | 'writes a file'
  | 'deletes files'
  | 'loads code'
  | 'changes the system'
  | 'changes settings'
  | 'changes references'
  | 'sends data';

export interface Gadget {
  readonly programs: readonly string[];
  readonly does: Effect;
  /** `-o` also in clusters and with an attached value, `--output` also abbreviated and with `=`. */
  readonly options?: readonly string[];
  /** Of the program's subcommand, where it has one. */
  readonly subcommands?: readonly string[];
  /** Any argument that looks so. */
  readonly words?: RegExp;
  /** The first argument, if it looks so. */
  readonly first?: RegExp;
  /** One more operand than this. */
  readonly maxOperands?: number;
  /** A second operand gives a value, unless one of these stands before the first. */
  readonly reads?: readonly string[];
  /** The subcommand alone is the gadget. */
  readonly always?: true;
  readonly script?: 'sed' | 'awk';
  readonly hint?: string;
  readonly match: readonly string[];
  readonly notMatch: readonly string[];
}
