/** What the policy takes and answers. Pure data: the rest of the server and `policy explain` show it as it is. */

export type PolicyMode = 'permissive' | 'restrictive' | 'custom';

/** `ls`, `git status`, `curl | sh` or `/regex/`, alone or with commands that it must and must not meet. */
export type Entry =
  | string
  | { readonly entry: string; readonly match?: readonly string[]; readonly notMatch?: readonly string[] };

export interface PolicyConfig {
  readonly mode: PolicyMode;
  /** Undefined: all in `custom`, the built-in list of reading commands in `restrictive`. Empty: nothing. */
  readonly allowedCommands?: readonly Entry[] | undefined;
  readonly blockedCommands?: readonly Entry[] | undefined;
  readonly askCommands?: readonly Entry[] | undefined;
  /** Command -> first arguments; `[]` any, otherwise none at all or one that is listed. */
  readonly allowedArguments?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Absolute. Undefined: any directory. Empty: none. */
  readonly allowedDirectories?: readonly string[] | undefined;
  /** Under an allow-list: whether allowed commands may write in the workspace. Undefined: with a list of the operator's own. */
  readonly allowWrites?: boolean | undefined;
  /** What commands can write to. Undefined: the allowed directories, else the one in which they start. */
  readonly workspace?: readonly string[] | undefined;
  /** Paths that are open beside the allowed directories, such as a private /tmp. */
  readonly openPaths?: readonly string[] | undefined;
}

/** A process that a command must not end: the server, its client, their parents. */
export interface ProtectedProcess {
  readonly pid: number;
  /** As `ps -o comm` shows it. */
  readonly name: string;
  readonly commandLine?: string;
}

export interface JudgeContext {
  /** Where the command starts: absolute. */
  readonly directory: string;
  readonly home: string;
  /** Follows symbolic links; of what does not exist, the nearest parent that does. Absent: the path itself. */
  readonly realPath?: (path: string) => string;
  /** What the caller and the session add to the environment. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly protectedProcesses?: readonly ProtectedProcess[];
  /** A variable that the command gets from the server itself, where that is certain. */
  readonly inherited?: (name: string) => string | undefined;
  /** The shell has run other commands before, as in a terminal: where it was, and what it holds, is not known. */
  readonly isContinued?: boolean;
}

export type Decision = 'allow' | 'deny' | 'ask';
export type DenialCode = 'SECURITY_001' | 'SECURITY_002' | 'SECURITY_003';

/** The kind of rule that decided; `rule` of a judgement begins with it. */
export type RuleClass =
  | 'default'
  | 'allowed'
  | 'ask'
  | 'blocked'
  | 'not-allowed'
  | 'gadget'
  | 'variable'
  | 'redirect'
  | 'write'
  | 'undecidable'
  | 'too-complex'
  | 'directory'
  | 'destructive';

export interface CommandView {
  /** null where a word is only known when it runs. */
  readonly argv: readonly (string | null)[];
  /** As it was written, with control characters escaped. */
  readonly text: string;
  /** From the outside in: `['bash -c', 'xargs']`; empty for what stands in the command itself. */
  readonly foundIn: readonly string[];
  /** Why something about it cannot be known beforehand. */
  readonly unknown?: string;
}

export interface UnknownView {
  readonly reason: string;
  readonly part: string;
}

export interface Judgement {
  readonly decision: Decision;
  readonly code?: DenialCode;
  readonly ruleClass: RuleClass;
  /** `blocked: rm -rf`, `gadget: git -c`, `destructive: rm of /`. */
  readonly rule: string;
  readonly reason: string;
  /** The piece of text that met the rule, escaped and shortened. */
  readonly part?: string;
  /** How to rephrase it, or whom to ask. */
  readonly hint?: string;
  /** Of a command that is not in the allow-list: its name, and the argument where the name alone would do. */
  readonly refused?: { readonly command: string; readonly argument?: string };
  readonly commands: readonly CommandView[];
  readonly unknowns: readonly UnknownView[];
}

/** Why a command is denied, and by which rule. */
export type Denial = Omit<Judgement, 'decision' | 'code' | 'part' | 'hint' | 'commands' | 'unknowns'> & {
  readonly part: string;
  readonly hint: string;
};

export interface Policy {
  readonly hasAllowList: boolean;
  /** Whether a list names commands: then they run in bash, whose grammar is the one that is judged. */
  readonly hasLists: boolean;
  /** Whether commands may write in the workspace, as far as it is the policy's business. */
  readonly writes: boolean;
  readonly warnings: readonly string[];
  /** The same for two policies that decide the same; an approval is bound to it. */
  readonly identity: string;
  /** A text for bash. Never throws. */
  judge(command: string, context: JudgeContext): Judgement;
  /** A program with its arguments, without a shell. */
  judgeArgv(argv: readonly string[], context: JudgeContext): Judgement;
  /** Command -> first arguments, as `shell/allowed` shows it; `{"*": []}` without an allow-list. */
  allowedTable(): Record<string, string[]>;
}
