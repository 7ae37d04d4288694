/** What the operator's page and its server say to each other; both sides import it. */

export interface Row {
  readonly id: string;
  /** `closed`: a terminal that was hung up, on request or with its server. */
  readonly state: 'running' | 'lost' | 'completed' | 'failed' | 'timeout' | 'closed';
  readonly owner: string;
  /** The beginning of it. */
  readonly command: string;
  readonly mode: string;
  readonly directory: string;
  readonly startedAtMs: number;
  readonly endedAtMs?: number | undefined;
  /** Of one that ended. */
  readonly durationMs?: number | undefined;
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly cpuPercent?: number | undefined;
  readonly memoryBytes?: number | undefined;
  readonly processes?: number | undefined;
  readonly canEnd: boolean;
  readonly terminal?: TerminalRow | undefined;
}

/** Of an execution with a screen that is open. */
export interface TerminalRow {
  readonly id: string;
  readonly sessionName: string;
  /** The programs in the foreground. */
  readonly foreground: string;
  readonly title: string;
  readonly columns: number;
  readonly rows: number;
  readonly isIdle: boolean;
  /** A person has taken it over. */
  readonly isHeld: boolean;
  /** It waits for a password. */
  readonly asksSecret: boolean;
}

/** The first of a stream has all rows, the others those that changed. */
export interface ListEvent {
  readonly isWhole: boolean;
  readonly servers: number;
  /** Ended executions that are not shown. */
  readonly older: number;
  readonly rows: readonly Row[];
  readonly gone: readonly string[];
  /** All of them, each time. */
  readonly questions: readonly QuestionRow[];
  readonly approvals: readonly ApprovalRow[];
  readonly secrets: readonly SecretRow[];
  readonly nowMs: number;
}

/** A question that waits for a person's answer. */
export interface AskedRow {
  readonly id: string;
  readonly principal: string;
  readonly client: string;
  readonly command: string;
  readonly directory: string;
  readonly askedAt: string;
  readonly expiresAt: string;
}

/** A program of a command that asks for a password. */
export interface SecretRow extends AskedRow {
  readonly executionId: string;
  /** The program's own words, which may be false. */
  readonly prompt: string;
}

/** A command that waits for a person's approval. */
export interface QuestionRow extends AskedRow {
  readonly tool: string;
  /** The simple commands in it. */
  readonly parts: readonly string[];
  readonly rule: string;
  /** All of it as one text, with the variables and the input that count. */
  readonly text: string;
}

/** An approval that is remembered. */
export interface ApprovalRow extends Omit<QuestionRow, 'askedAt' | 'text'> {
  /** The server that it holds for, if it is one. */
  readonly instance?: string | undefined;
  readonly by: string;
  readonly grantedAt: string;
}

export interface SessionAnswer {
  /** Sent back in a header with every request. */
  readonly key: string;
  readonly isReadOnly: boolean;
  readonly version: string;
  readonly stateDirectory: string;
}

export interface AuditRow {
  readonly time: string;
  readonly instance: string;
  readonly seq: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface ExecutionDetails {
  readonly row: Row;
  readonly command: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly sessionId?: string | undefined;
  readonly timeoutMs?: number | undefined;
  readonly outcome?: Readonly<Record<string, unknown>> | undefined;
  readonly streams: readonly StreamInfo[];
  readonly audit: readonly AuditRow[];
}

export interface StreamInfo {
  readonly name: string;
  readonly sizeBytes: number;
}

export interface OutputAnswer {
  readonly lines: readonly string[];
  readonly totalLines: number;
  readonly totalBytes: number;
  readonly isRunning: boolean;
  readonly note?: string | undefined;
}

/** When, in milliseconds from the beginning: output; a new size, `80x24`; or a note. */
export type RecordedEvent = readonly [number, 'o' | 'r' | 'm', string];

export interface RecordingAnswer {
  /** Of the screen at the beginning. */
  readonly columns: number;
  readonly rows: number;
  readonly durationMs: number;
  readonly events: readonly RecordedEvent[];
  /** Where the rest begins, if there is more. */
  readonly nextOffset?: number;
}

export interface SearchAnswer {
  readonly matches: readonly { readonly line: number; readonly text: string }[];
  readonly nextOffset?: number | undefined;
}

export interface EndAnswer {
  readonly result: 'ended' | 'requested' | 'over' | 'unknown';
}

export interface ErrorAnswer {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
  /** The operator's token can be typed to get a session. */
  readonly takesToken?: boolean | undefined;
}

/** For the operator's token. */
export interface LinkAnswer {
  readonly link: string;
}

/** From the server to a page that looks at a terminal; what the terminal writes comes as bytes. */
export type TerminalMessage =
  | { readonly kind: 'screen'; readonly snapshot: string; readonly columns: number; readonly rows: number }
  | { readonly kind: 'held'; readonly isHeld: boolean }
  | { readonly kind: 'ended' };

/** From the page. */
export type TerminalWish =
  | { readonly kind: 'hold'; readonly isHeld: boolean }
  | { readonly kind: 'type'; readonly text: string };

/** Of the protocol of a terminal's socket; its key comes beside it. */
export const TERMINAL_PROTOCOL = 'shell';
export const KEY_PROTOCOL = 'key.';

export interface AuditFilter {
  readonly text?: string;
  readonly since?: string;
  readonly decision?: string;
  readonly status?: string;
  readonly event?: string;
  readonly principal?: string;
  readonly limit?: number;
}

export interface AuditAnswer {
  /** Newest first. */
  readonly lines: readonly AuditRow[];
  /** How many more there are. */
  readonly left: number;
  readonly series: AuditSeries;
}

/** Each of the same length; times in seconds since the epoch. */
export interface AuditSeries {
  readonly times: readonly number[];
  readonly ended: readonly number[];
  readonly failed: readonly number[];
  readonly denied: readonly number[];
  /** In seconds. */
  readonly longest: readonly number[];
}

export interface VerifyAnswer {
  readonly lines: number;
  readonly files: number;
  readonly lost: number;
  readonly problems: readonly { readonly kind: string; readonly text: string }[];
}

export interface ExplainAnswer {
  readonly decision: 'allow' | 'deny' | 'ask';
  readonly code?: string;
  readonly rule: string;
  readonly reason: string;
  readonly part?: string;
  readonly hint?: string;
  readonly commands: readonly {
    readonly text: string;
    readonly foundIn: readonly string[];
    readonly unknown?: string;
  }[];
  readonly unknowns: readonly { readonly reason: string; readonly part: string }[];
}

export interface SettingRow {
  readonly key: string;
  readonly value?: unknown;
  readonly about?: string;
  readonly source: string;
  readonly where?: string;
}

export interface FindingRow {
  readonly name: string;
  readonly state: 'good' | 'warning' | 'problem';
  readonly text: string;
  readonly fix?: string;
}
