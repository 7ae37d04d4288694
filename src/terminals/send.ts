/**
 * Types into a terminal: what would come of the bytes is decided and recorded first, by what the host reported last of who
 * reads them; the host sends them only if that still holds.
 */
import { ShellServerError } from '../base/errors.ts';
import type { Security } from '../security/security.ts';
import type { Host } from './hosts.ts';
import { echoedLines, encodeTyped } from './input.ts';
import type { Caller } from './open-terminal.ts';
import { type InputFacts, NOTHING_SENT, type SendResult, type Typed, type WaitSpec } from './protocol.ts';
import { CANNOT_SEE, NOT_ALONE } from './refusals.ts';
import { type Entry, forgetTyped } from './register.ts';
import { type Decision, isAlone, type ShellFacts } from './typing.ts';

export interface InputOptions {
  readonly typed: Typed;
  readonly guard: string | undefined;
  readonly wait: WaitSpec | undefined;
}

/** Another program may have come to the front between the decision and the input. */
const MAX_DECISIONS = 3;
/** For a shell to show what was typed before. */
const SHOWN_MS = 5000;
/** For a shell to read the next of several lines. */
const SETTLED_MS = 250;
/** For a person who has taken it over to give it back, where the caller waits for nothing else. */
const HELD_MS = 5000;
const ESC = 0x1b;
const ENTER = Buffer.from('\r');

export function createSending(
  security: Security,
): (entry: Entry, input: InputOptions, caller: Caller) => Promise<SendResult> {
  /** Throws where it must not be typed. */
  function authorize(entry: Entry, input: InputOptions, caller: Caller, made: Made): void {
    const { facts, decision } = made;
    security.authorizeInput({
      principal: caller.principal,
      client: caller.client.name,
      requestId: caller.requestId,
      terminalId: entry.id,
      openedUnder: facts.rules,
      directory: facts.workingDirectory,
      commands: 'commands' in decision ? decision.commands : undefined,
      left: decision.kind === 'left' ? decision.texts : decision.kind === 'enter' ? decision.left : [],
      isLeftText: decision.kind !== 'left' || decision.isText,
      isPlainShell: facts.lineKeys !== undefined,
      innerShell: facts.innerShell,
      variables: facts.variables,
      uncertain: decision.kind === 'refuse' ? decision : undefined,
      input: describeTyped(input.typed),
      secrecy: !facts.isSecretPrompt ? 'none' : facts.isPasswordProgram ? 'certain' : 'likely',
      running: facts.isShellInFront ? { commands: entry.entered } : undefined,
      approval: caller.approval,
    });
  }

  return async (entry, input, caller) => {
    if (!(await isFree(entry, input, caller.signal))) return { ...NOTHING_SENT, why: 'held' };
    const endTurn = await takeTurn(entry);
    try {
      for (let decisions = 1; ; decisions++) {
        caller.signal.throwIfAborted();
        const isListed = security.hasLists(caller.principal);
        const made = await decide(entry, input.typed, isListed, caller.signal);
        authorize(entry, input, caller, made);
        const { decision } = made;
        const isShown = decision.kind === 'enter' && decision.isShown;
        const onTyped = (): void => {
          noteEntered(entry, made);
          endTurn();
        };
        const asker = { signal: caller.signal, onTyped };
        const result =
          decision.kind === 'verify'
            ? await sendVerified(entry, input, { ...made, line: decision.line }, asker)
            : await sendBytes(entry, input, { ...made, isShown }, asker);
        if (result.why !== 'changed' || decisions === MAX_DECISIONS) return result;
      }
    } finally {
      endTurn();
    }
  };
}

/** One after the other: each is judged by what those before it have typed, though not by what comes of that. */
async function takeTurn(entry: Entry): Promise<() => void> {
  let end: () => void = () => undefined;
  const before = entry.turn;
  entry.turn = new Promise((resolve) => {
    end = resolve;
  });
  await before;
  return end;
}

/** An answer to a prompt is none of the commands that go on with it. */
function noteEntered(entry: Entry, { decision, reader, facts }: Made): void {
  const isCommand = reader === 'shell' && !facts.isSecretPrompt;
  if (isCommand && 'commands' in decision) entry.entered = decision.commands;
}

/** Waits where a person has taken it over: what would come of the input is only known when they have given it back. */
async function isFree(entry: Entry, { wait }: InputOptions, signal: AbortSignal): Promise<boolean> {
  if (!entry.isHeld) return true;
  const timeoutMs = wait?.timeoutMs ?? HELD_MS;
  const answer = await entry.host.ask('untilFree', { id: entry.id, timeoutMs }, signal);
  return answer.isFree;
}

/** What reads the input: a shell, a program that may leave some of it to the shell, or another one. */
type Reader = 'shell' | 'inner shell' | 'part' | 'program';

/** Without lists only what the terminal's own shell reads is judged. */
function readerOf(facts: InputFacts, isListed: boolean): Reader {
  const { isForShell, innerShell, isPartlyRead, isSecretPrompt, isPasswordProgram } = facts;
  if (isListed && isPartlyRead) return 'part';
  if (isForShell) return 'shell';
  if (!isListed) return 'program';
  if (innerShell !== undefined) return 'inner shell';
  return isSecretPrompt && !isPasswordProgram ? 'part' : 'program';
}

/** Another shell says nothing of itself: that it has a history is assumed, and its line is not looked at. */
function shellFacts(facts: InputFacts, reader: Reader, isListed: boolean): ShellFacts {
  const known = { ...facts, isStrict: isListed };
  return reader === 'inner shell'
    ? { ...known, isShellInFront: true, expandsHistory: true, editing: 'other' }
    : known;
}

interface Readers {
  readonly entry: Entry;
  readonly reader: Reader;
  readonly isListed: boolean;
}

function decideFor(bytes: Buffer, facts: InputFacts, { entry, reader, isListed }: Readers): Decision {
  if (facts.isSecretPrompt && facts.innerShell === undefined && !isAlone(bytes)) return NOT_ALONE;
  if (reader === 'part') return entry.typing.decideLeft(bytes, facts);
  if (reader !== 'program') return entry.typing.decide(bytes, shellFacts(facts, reader, isListed));
  const isPassword = facts.isSecretPrompt && facts.isPasswordProgram;
  if (!isListed || isPassword) return { kind: 'open' };
  const expandsHistory = facts.expandsHistory || entry.typing.mayHaveHistory();
  return entry.passing.decide(bytes, { ...facts, expandsHistory });
}

interface Made {
  readonly decision: Decision;
  readonly bytes: Buffer;
  readonly facts: InputFacts;
  readonly reader: Reader;
  readonly isListed: boolean;
}

/** By what the last answer said; nothing is refused by that, since a program may have begun to read since. */
async function decide(entry: Entry, typed: Typed, isListed: boolean, signal: AbortSignal): Promise<Made> {
  const known = entry.facts;
  entry.facts = undefined;
  const decideBy = (facts: InputFacts): Promise<Made> =>
    decideFrom(facts, entry, { typed, isListed }, signal);
  const made = known && (await decideBy(known));
  if (made !== undefined && made.decision.kind !== 'refuse' && !isAhead(made.facts)) return made;
  return decideBy(await entry.host.ask('facts', { id: entry.id }, signal));
}

const isAhead = ({ isForShell, isShellInFront }: InputFacts): boolean => isForShell && !isShellInFront;

async function decideFrom(
  known: InputFacts,
  entry: Entry,
  { typed, isListed }: { readonly typed: Typed; readonly isListed: boolean },
  signal: AbortSignal,
): Promise<Made> {
  const { id, host, typing } = entry;
  const ask = (): Promise<InputFacts> => host.ask('facts', { id }, signal);
  let facts = known;
  let bytes = encodeTyped(typed, facts.modes);
  if (facts.isForShell && typing.needsLook(bytes, { ...facts, isStrict: isListed })) {
    await untilShown(host, id, signal);
    facts = await ask();
    bytes = encodeTyped(typed, facts.modes);
  }
  if (facts.isForShell && typing.isUnsettled(facts)) {
    await untilShown(host, id, signal, SETTLED_MS);
    facts = await ask();
    bytes = encodeTyped(typed, facts.modes);
    typing.settle(facts);
  }
  const reader = readerOf(facts, isListed);
  const decision = decideFor(bytes, facts, { entry, reader, isListed });
  return { decision, bytes, facts, reader, isListed };
}

interface Asker {
  readonly signal: AbortSignal;
  /** As soon as all of it is typed: others need not wait for what comes of it. */
  onTyped?(): void;
}

async function sendBytes(
  entry: Entry,
  { guard, wait, typed }: InputOptions,
  { bytes, facts, reader, isListed, isShown }: Omit<Made, 'decision'> & { readonly isShown: boolean },
  { signal, onTyped }: Asker,
): Promise<SendResult> {
  const { id, host, typing, passing } = entry;
  entry.facts = undefined;
  const request = {
    id,
    base64: bytes.toString('base64'),
    echoedLines: echoedLines(typed),
    guard,
    facts,
    decidedBy: { line: isShown, modes: bytes.includes(ESC) },
    wait,
  };
  let isTyped = false;
  function commit(): void {
    isTyped = true;
    if (reader === 'shell' || reader === 'inner shell') {
      typing.commit(bytes, shellFacts(facts, reader, isListed));
      passing.reset();
    } else {
      typing.pass(bytes);
      passing.commit(bytes, facts);
    }
    onTyped?.();
  }
  try {
    const result = await host.ask('send', request, signal, commit);
    if (result.facts !== undefined) entry.facts = result.facts;
    return result;
  } catch (error) {
    // Nobody waits for it any more, and it may still be typed.
    if (signal.aborted && !isTyped) forgetTyped(entry);
    throw error;
  }
}

/** The line first, and Enter when it is shown with nothing else. */
async function sendVerified(
  entry: Entry,
  input: InputOptions,
  { line, ...made }: Made & { readonly line: string },
  asker: Asker,
): Promise<SendResult> {
  const { signal } = asker;
  const { id, host } = entry;
  const unfinished: InputOptions = { ...input, wait: undefined, typed: { kind: 'keys', keys: [] } };
  const { bytes } = made;
  const typedLine = { ...made, bytes: bytes.subarray(0, -1), isShown: true };
  const begun = await sendBytes(entry, unfinished, typedLine, { signal });
  if (begun.sent === 'nothing') return begun;
  await untilShown(host, id, signal);
  const now = await host.ask('facts', { id }, signal);
  const { promptLine, beforeCursor } = now;
  const isWhole = promptLine === line.trimEnd() && beforeCursor?.trimEnd() === promptLine;
  if (!isWhole) {
    const reason = `${CANNOT_SEE.reason} The text was typed, and not entered.`;
    throw new ShellServerError('SECURITY_003', reason.replace('Nothing was sent: w', 'W'), {
      hint: CANNOT_SEE.hint,
      details: { rule: 'uncertain_line' },
    });
  }
  const entered = await sendBytes(entry, input, { ...made, bytes: ENTER, facts: now, isShown: true }, asker);
  return entered.sent === 'nothing' ? entered : { ...entered, bytes: bytes.length };
}

function describeTyped(typed: Typed): string {
  if (typed.kind === 'keys') return typed.keys.map((key) => `<${key}>`).join('');
  const text =
    typed.kind === 'text' ? typed.text : `<bytes ${Buffer.from(typed.base64, 'base64').toString('hex')}>`;
  return typed.isEntered ? `${text}<enter>` : text;
}

/** A shell that waits for the next key has shown the ones before it. */
async function untilShown(host: Host, id: string, signal: AbortSignal, idleMs?: number): Promise<void> {
  const screen = { view: 'screen', count: 1, maxBytes: 1, withAnsi: false, withFront: false } as const;
  const wait = { idleMs, timeoutMs: SHOWN_MS };
  await host.ask('read', { ...screen, id, reader: '', wait }, signal);
}
