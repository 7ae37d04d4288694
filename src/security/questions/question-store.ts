/**
 * Questions to the operator about commands that need approval. Servers and the operator's own programs (the page, the
 * command line) meet in a directory of the state directory, which no sandboxed command can reach:
 *
 *   question_….json   a question that is open, written by the server that asks
 *   question_….answer the operator's answer; the first one counts
 *   grant_….json      an approval that holds for longer than one run
 *   secret_….json     a password that a program asks for, with a socket for its answer
 *   attended          its time says when an operator's program last looked
 *
 * An approval is bound to a digest of the principal, the command, its directory, its environment and the policy: the
 * same words elsewhere, or under other rules, are another question.
 */
import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Deadline, msUntil } from '../../base/boot.ts';
import type { Clock } from '../../base/clock.ts';
import { errnoOf, ShellServerError } from '../../base/errors.ts';
import { listNames, makePrivateDirectory, writeFileWhole } from '../../base/files.ts';
import { type IdPrefix, isId } from '../../base/ids.ts';

export interface QuestionOptions {
  readonly stateDir: string;
  readonly instance: string;
  readonly clock: Clock;
}

/** What the operator is asked to approve. */
export interface Subject {
  readonly binding: string;
  readonly principal: string;
  readonly client: string;
  readonly tool: string;
  readonly command: string;
  /** The simple commands that the policy found in it. */
  readonly parts: readonly string[];
  readonly directory: string;
  readonly rule: string;
  /** All of it as one text, with the variables and the input that count. */
  readonly text: string;
}

export interface Asked {
  readonly id: string;
  /** The server that asks. */
  readonly instance: string;
  readonly askedAt: string;
  /** For people; what counts is the deadline, since the clock may be set while the server waits. */
  readonly expiresAt: string;
  readonly deadline: Deadline;
}

export type Question = Subject & Asked;

export const REMEMBER = ['once', 'hour', 'session'] as const;
/** How long an approval holds: for one run, for an hour, or until the server that asked ends. */
export type Remember = (typeof REMEMBER)[number];

export type OperatorAnswer = { readonly by: string } & (
  | { readonly decision: 'allow'; readonly remember: Remember }
  | { readonly decision: 'deny'; readonly reason?: string }
);

/** An approval that is remembered. */
export interface StandingApproval extends Omit<Subject, 'text'> {
  readonly id: string;
  /** Only for this server, where it holds for a session. */
  readonly instance?: string;
  readonly by: string;
  readonly grantedAt: string;
  /** It holds until the first of both: a clock that is set back does not prolong it, and a suspended machine neither. */
  readonly expiresAt: string;
  readonly deadline: Deadline;
}

/** A program that shows questions says so every second. */
const ATTENDED_MS = 5000;
const REASON_CHARACTERS = 500;

export const questionDirectory = (stateDir: string): string => join(stateDir, 'questions');

/** The open questions of all servers on the state directory. */
export function listQuestions(stateDir: string): Question[] {
  const directory = questionDirectory(stateDir);
  return readAll<Question>(directory, 'question').filter(({ id }) => readAnswer(directory, id) === undefined);
}

export function answerQuestion(stateDir: string, id: string, answer: OperatorAnswer): Question {
  const directory = questionDirectory(stateDir);
  const question = listQuestions(stateDir).find((each) => each.id === id);
  if (question === undefined) throw notOpen(id);
  const cut =
    answer.decision === 'deny' && answer.reason !== undefined
      ? { ...answer, reason: answer.reason.slice(0, REASON_CHARACTERS) }
      : answer;
  try {
    // The first answer counts: the file must not exist.
    writeFileSync(answerFileOf(directory, id), `${JSON.stringify(cut)}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') throw notOpen(id);
    throw error;
  }
  return question;
}

export function listStandingApprovals(stateDir: string, nowMs: number): StandingApproval[] {
  return readAll<StandingApproval>(questionDirectory(stateDir), 'grant').filter(
    ({ expiresAt }) => Date.parse(expiresAt) > nowMs,
  );
}

/** Returns what was revoked. */
export function revokeApproval(stateDir: string, id: string, nowMs: number): StandingApproval {
  const approval = listStandingApprovals(stateDir, nowMs).find((each) => each.id === id);
  if (approval === undefined)
    throw new ShellServerError('PARAM_002', `No remembered approval ${JSON.stringify(id.slice(0, 80))}.`, {
      hint: 'List them with `mcp-shell-server questions`.',
    });
  remove(questionDirectory(stateDir), id);
  return approval;
}

/** Says that an operator is there, until it is closed. Without one, nobody is asked. */
export function attendQuestions(stateDir: string): { close(): void } {
  return keepFresh(join(questionDirectory(stateDir), ATTENDED), '', ATTENDED_MS);
}

/** A file whose time says that a program is there, until it is closed; one that was killed is gone after this time. */
export function keepFresh(file: string, text: string, aliveMs: number): { close(): void } {
  const touch = (): void => {
    try {
      utimesSync(file, new Date(), new Date());
    } catch {
      makePrivateDirectory(dirname(file));
      writeFileWhole(file, text);
    }
  };
  touch();
  // A server on its way out must not wait for this.
  const timer = setInterval(touch, aliveMs / 5).unref();
  return {
    close() {
      clearInterval(timer);
      // Another program that keeps the same file makes it again.
      rmSync(file, { force: true });
    },
  };
}

const ATTENDED = 'attended';

export function isAttended(directory: string, nowMs: number): boolean {
  const mtimeMs = statSync(join(directory, ATTENDED), { throwIfNoEntry: false })?.mtimeMs;
  return mtimeMs !== undefined && Math.abs(nowMs - mtimeMs) < ATTENDED_MS;
}

export function notOpen(id: string): ShellServerError {
  return new ShellServerError('PARAM_002', `Question ${JSON.stringify(id.slice(0, 80))} is not open.`, {
    hint: 'It was answered, withdrawn or has expired. List open questions with `mcp-shell-server questions`.',
  });
}

export function writeRecord(directory: string, record: { readonly id: string }): void {
  makePrivateDirectory(directory);
  writeFileWhole(fileOf(directory, record.id), JSON.stringify(record));
}

const fileOf = (directory: string, id: string): string => join(directory, `${id}.json`);
/** Of a question for a password, whose answer is in no file. */
export const socketOf = (directory: string, id: string): string => join(directory, `${id}.socket`);
const answerFileOf = (directory: string, id: string): string => join(directory, `${id}.answer`);

export function remove(directory: string, id: string): void {
  rmSync(fileOf(directory, id), { force: true });
  rmSync(answerFileOf(directory, id), { force: true });
  rmSync(socketOf(directory, id), { force: true });
}

/** Those whose deadline has not passed, oldest first. */
export function readAll<Kept extends { readonly id: string; readonly deadline: Deadline }>(
  directory: string,
  prefix: IdPrefix,
): Kept[] {
  return idsIn(directory, prefix)
    .flatMap((id) => {
      const kept = readJson(fileOf(directory, id)) as Kept | undefined;
      return kept?.id === id && isOpen(kept) ? [kept] : [];
    })
    .toSorted((one, other) => one.deadline.ticks - other.deadline.ticks);
}

export const isOpen = ({ deadline }: { readonly deadline?: Deadline }): boolean =>
  deadline !== undefined && msUntil(deadline) > 0;

function idsIn(directory: string, prefix: IdPrefix): string[] {
  return listNames(directory)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .filter((id) => isId(prefix, id));
}

export function readAnswer(directory: string, id: string): OperatorAnswer | undefined {
  const answer = readJson(answerFileOf(directory, id)) as Partial<OperatorAnswer> | undefined;
  if (typeof answer?.by !== 'string') return undefined;
  if (answer.decision === 'allow' && REMEMBER.includes(answer.remember as Remember))
    return answer as OperatorAnswer;
  return answer.decision === 'deny' ? (answer as OperatorAnswer) : undefined;
}

/** undefined where it is not there, or only half written. */
function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError || errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** What a killed server has left. */
export function sweep(directory: string): void {
  for (const prefix of ['question', 'secret', 'grant'] as const) {
    const current = new Set(readAll(directory, prefix).map(({ id }) => id));
    for (const id of idsIn(directory, prefix)) if (!current.has(id)) remove(directory, id);
  }
}
