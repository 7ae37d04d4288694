/**
 * What the server and the host of the terminals say to each other over their socket: one JSON value a line, both being
 * ours and of one version. A host that outlived its server is spoken to by the next one, so the version is checked.
 */
import type { Held, Outcome } from '../executions/processes.ts';
import type { LaunchPermit } from '../security/security.ts';

/** Raised with every change of what follows. */
export const PROTOCOL = 9;

/** On the host's stdin, before it listens. */
export interface HostSpec {
  readonly socket: string;
  /** For pipes and the like. */
  readonly directory: string;
  /** How long its terminals live on without a server. */
  readonly graceMs: number;
}

/** On its stdin instead, where it is to replay what a terminal has written: to save it, or for lines [from, to). */
export type ReplaySpec =
  | { readonly recording: string; readonly title: string }
  | { readonly recording: string; readonly from: number; readonly to: number };

export interface Dimensions {
  readonly columns: number;
  readonly rows: number;
}

export interface TerminalSpec {
  readonly id: string;
  readonly owner: string;
  readonly sessionName: string;
  readonly shell: string;
  /** Where its files lie. */
  readonly directory: string;
  readonly dimensions: Dimensions;
  readonly createdAtMs: number;
  readonly autoSaves: boolean;
  readonly permit: LaunchPermit;
  readonly timeoutMs: number | undefined;
  readonly maxBytes: number;
  readonly tailBytes: number;
  /** By which the shell's marks are known. */
  readonly nonce: string;
  /** The shell tells when a command begins, not only when a prompt comes. */
  readonly hasCommandMark: boolean;
  /** What held for its owner when it was opened, as a checksum. */
  readonly rules: string;
  /** What is typed for its shell is held to a list of commands. */
  readonly isListed: boolean;
  /** Typed into the shell when its prompt is there. */
  readonly command: string | undefined;
}

/** A terminal as it is at the moment. */
export interface TerminalState
  extends Pick<
    TerminalSpec,
    'id' | 'owner' | 'sessionName' | 'shell' | 'dimensions' | 'createdAtMs' | 'autoSaves' | 'rules'
  > {
  readonly processId: number;
  readonly lastActivityMs: number;
  /** Only the shell is in the foreground, waiting for a command. */
  readonly isIdle: boolean;
  readonly workingDirectory: string | undefined;
  readonly lastExitCode: number | undefined;
  readonly front: readonly FrontInfo[];
  readonly title: string;
  readonly isAlternate: boolean;
  readonly viewers: number;
  /** A person has taken it over: what others type waits. */
  readonly isHeld: boolean;
  readonly outcome: Outcome | undefined;
}

export interface FrontInfo {
  readonly pid: number;
  readonly name: string;
  readonly path: string | undefined;
}

export interface WaitSpec {
  /** A regular expression over what is new. */
  readonly pattern?: string | undefined;
  readonly idleMs?: number | undefined;
  readonly timeoutMs: number;
  /** For the first prompt of a shell. */
  readonly untilPrompt?: boolean;
}

export const WAIT_REASONS = [
  'command_done',
  'matched',
  'awaiting_input',
  'quiet',
  'timeout_still_running',
  'exited',
] as const;
export type WaitReason = (typeof WAIT_REASONS)[number];

export interface Waited {
  readonly reason: WaitReason;
  readonly matched: string | undefined;
  readonly exitCode: number | undefined;
  /** What the command wrote, where the shell marked its beginning and end. */
  readonly commandOutput: string | undefined;
  readonly isCommandOutputCut: boolean;
  /** The line in which the prompt after it begins. */
  readonly untilLine: number | undefined;
  /** The program draws its screen, so that lines say little. */
  readonly isRedrawn: boolean;
  readonly waitedMs: number;
}

/** Which bytes are typed; text and keys depend on what the program has asked for. */
export type Typed =
  | { readonly kind: 'text'; readonly text: string; readonly isEntered: boolean }
  | { readonly kind: 'keys'; readonly keys: readonly string[] }
  | { readonly kind: 'bytes'; readonly base64: string; readonly isEntered: boolean };

/** What a program has asked for, on which the bytes of text and keys depend. */
export interface InputModes {
  /** It wants the other form of the cursor keys. */
  readonly applicationCursor: boolean;
  /** It can tell a paste from typing. */
  readonly bracketedPaste: boolean;
  /** It draws the whole screen. */
  readonly isAlternate: boolean;
}

export interface SendRequest {
  readonly id: string;
  /** Exactly what was judged. */
  readonly base64: string;
  /** How many lines its echo takes up. */
  readonly echoedLines: number;
  readonly guard?: string | undefined;
  /** By which this was allowed; where they are others by now, nothing is sent. */
  readonly facts: InputFacts;
  /** The line at the prompt, and the modes, count only where the decision was made by them. */
  readonly decidedBy: { readonly line: boolean; readonly modes: boolean };
  readonly wait?: WaitSpec | undefined;
}

export interface SendResult {
  readonly sent: 'all' | 'nothing' | 'part';
  /** Of nothing. */
  readonly why?: 'guard' | 'changed' | 'ended' | 'held' | undefined;
  /** How the terminal has ended. */
  readonly outcome?: Outcome | undefined;
  /** The foreground processes when it was sent, or would have been. */
  readonly front: readonly FrontInfo[];
  readonly bytes: number;
  readonly waited?: Waited | undefined;
  /** The line that the cursor was in before. */
  readonly fromLine: number;
  /** What stood there already: the question, where the answer to it is not echoed. */
  readonly fromText: string;
  /** After the wait: the last lines since `fromLine`, none of them where the shell marked what the command wrote. */
  readonly after?: ReadResult | undefined;
  /** The first lines from `fromLine` on, where they have left memory. */
  readonly head?: readonly string[] | undefined;
  /** Instead of lines, where the program draws its screen. */
  readonly screen?: readonly string[] | undefined;
  /** As they are now, where they are known. */
  readonly facts?: InputFacts | undefined;
}

export const NOTHING_SENT = { sent: 'nothing', front: [], bytes: 0, fromLine: 0, fromText: '' } as const;

/** Those that everybody has, other control characters, or even letters. */
export type LineKeys = 'usual' | 'unusual' | 'changed';

/** `other` is vi mode, or no line editor. */
export type Editing = 'emacs' | 'other';

/** What a decision about input depends on. */
export interface InputFacts {
  /** It is for the shell, which is in the foreground, or gets it when the program that does not read it has ended. */
  readonly isForShell: boolean;
  /** Only the shell is in the foreground. */
  readonly isShellInFront: boolean;
  /** Something else than a command is asked for, without echo. */
  readonly isSecretPrompt: boolean;
  /** The name of another shell that reads commands in the foreground. */
  readonly innerShell: string | undefined;
  /** A command of the shell reads single characters (`read -n 1`); the shell runs what is left. */
  readonly isPartlyRead: boolean;
  /** Only a program that asks for passwords reads, and it reads whole lines. */
  readonly isPasswordProgram: boolean;
  /** How many prompts the shell has come back to. */
  readonly prompts: number;
  /** A line with `!` in it becomes another before it is run. */
  readonly expandsHistory: boolean;
  /** With which keys the shell's line editor is used; undefined where the shell does not tell. */
  readonly editing: Editing | undefined;
  readonly workingDirectory: string | undefined;
  /** What stands behind the shell's prompt, and how much of it stands before the cursor. */
  readonly promptLine: string | undefined;
  readonly beforeCursor: string | undefined;
  /** The cursor is where the shell's last prompt ended, as far as that is shown. */
  readonly isFreshPrompt: boolean;
  /** With which keys the kernel edits the line; undefined where the shell does. */
  readonly lineKeys: LineKeys | undefined;
  /** Those of the kernel that a line editor takes over; undefined where nobody asked. */
  readonly editorKeys: LineKeys | undefined;
  readonly modes: InputModes;
  /** How often a person has typed. */
  readonly byPerson: number;
  /** What held for the owner when the terminal was opened, as a checksum. */
  readonly rules: string;
  /** Variables that it was opened with. */
  readonly variables: LaunchPermit['given'];
}

export interface ReadRequest {
  readonly id: string;
  /** Reading and waiting change nothing for other readers. */
  readonly reader: string;
  readonly view: 'scrollback' | 'screen';
  /** undefined: the last lines. */
  readonly from?: number | undefined;
  /** Lines before it too, where something was written over them since this reader looked. */
  readonly isNew?: boolean;
  readonly count: number;
  /** Lines that do not fit are left for another request. */
  readonly maxBytes: number;
  readonly withAnsi: boolean;
  readonly withFront: boolean;
  readonly wait?: WaitSpec | undefined;
}

export interface ReadResult {
  readonly lines: readonly string[];
  readonly from: number;
  /** One of them was too long. */
  readonly isLineCut?: boolean | undefined;
  readonly totalLines: number;
  /** So many of them are final: programs write in the line of the cursor and after it, until the terminal has ended. */
  readonly finalLines: number;
  /** Lines after them that were asked for and not kept. */
  readonly missing: number;
  readonly cursor: { readonly row: number; readonly column: number; readonly isVisible: boolean };
  readonly title: string;
  readonly isAlternate: boolean;
  /** Known after a wait. */
  readonly isSecretPrompt: boolean;
  /** Where they were asked for. */
  readonly front: readonly FrontInfo[];
  readonly waited: Waited | undefined;
  /** How the terminal has ended. */
  readonly outcome?: Outcome | undefined;
  /** After a wait, or at the shell's prompt: then they usually hold until something is typed. */
  readonly facts: InputFacts | undefined;
}

export interface Screen {
  /** What draws the screen as it is now. */
  readonly snapshot: string;
  readonly dimensions: Dimensions;
}

/** By name: what is asked, and what is answered. */
export interface Methods {
  readonly hello: [{ readonly protocol: number; readonly isServer: boolean }, { readonly protocol: number }];
  /** Answered when its shell has a prompt. */
  readonly create: [
    TerminalSpec,
    { readonly state: TerminalState; readonly facts: InputFacts | undefined; readonly process: Held },
  ];
  readonly list: [Record<string, never>, readonly TerminalState[]];
  readonly state: [{ readonly id: string }, TerminalState];
  readonly facts: [{ readonly id: string }, InputFacts];
  readonly send: [SendRequest, SendResult];
  readonly read: [ReadRequest, ReadResult];
  readonly resize: [{ readonly id: string; readonly dimensions: Dimensions }, TerminalState];
  /** Answered when it is gone, and what is to be kept of it is on disk; undefined: what was said when it was opened. */
  readonly close: [
    { readonly id: string; readonly savesHistory: boolean | undefined },
    { readonly isSaved: boolean },
  ];
  /** What the terminal writes from now on comes as `output` events; answered with what its screen shows. */
  readonly attach: [{ readonly id: string }, Screen];
  /** The screen comes as an event, in its place among the outputs. */
  readonly redraw: [{ readonly id: string }, void];
  readonly type: [{ readonly id: string; readonly base64: string }, void];
  /** A person takes it over, or gives it back, which the end of the connection does too. */
  readonly hold: [{ readonly id: string; readonly isHeld: boolean }, void];
  /** Answered when nobody holds it, or the time is over. */
  readonly untilFree: [{ readonly id: string; readonly timeoutMs: number }, { readonly isFree: boolean }];
  /** Ends every terminal, then the host. */
  readonly shutdown: [Record<string, never>, void];
}

export type MethodName = keyof Methods;

export type HostEvent =
  | { readonly event: 'output'; readonly id: string; readonly base64: string }
  /** For those who look at it: after they asked, and after it was resized. */
  | ({ readonly event: 'screen'; readonly id: string } & Screen)
  /** Its program has ended, and its outcome is on disk; it can still be read. */
  | { readonly event: 'ended'; readonly id: string }
  /** It can be read no more. */
  | { readonly event: 'gone'; readonly id: string; readonly isSaved: boolean }
  /** A program begins to wait for a password. */
  | { readonly event: 'password_prompt'; readonly id: string }
  /** What a person does who looks at it; `typed` comes once for each time that they attach. */
  | {
      readonly event: 'attached' | 'typed' | 'resized' | 'held' | 'released' | 'detached';
      readonly id: string;
    };
