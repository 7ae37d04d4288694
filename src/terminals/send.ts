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
import type { Entry } from './register.ts';
import { CANNOT_SEE, type Decision } from './typing.ts';

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
      isPlainShell: facts.lineKeys !== undefined,
      uncertain: decision.kind === 'refuse' ? decision : undefined,
      input: facts.isSecretPrompt ? undefined : describeTyped(input.typed),
      approval: caller.approval,
    });
  }

  return async (entry, input, caller) => {
    if (!(await isFree(entry, input, caller.signal))) return { ...NOTHING_SENT, why: 'held' };
    for (let decisions = 1; ; decisions++) {
      const made = await decide(entry, input.typed, caller.signal);
      authorize(entry, input, caller, made);
      const { decision, bytes, facts } = made;
      const isShown = decision.kind === 'enter' && decision.isShown;
      const result =
        decision.kind === 'verify'
          ? await sendVerified(entry, input, { ...made, line: decision.line }, caller.signal)
          : await sendBytes(entry, input, { bytes, facts, isShown }, caller.signal);
      if (result.why !== 'changed' || decisions === MAX_DECISIONS) return result;
    }
  };
}

/** Waits where a person has taken it over: what would come of the input is only known when they have given it back. */
async function isFree(entry: Entry, { wait }: InputOptions, signal: AbortSignal): Promise<boolean> {
  if (!entry.isHeld) return true;
  const timeoutMs = wait?.timeoutMs ?? HELD_MS;
  const answer = await entry.host.ask('untilFree', { id: entry.id, timeoutMs }, signal);
  return answer.isFree;
}

interface Made {
  readonly decision: Decision;
  readonly bytes: Buffer;
  readonly facts: InputFacts;
}

/** By what the last answer said; nothing is refused by that, since a program may have begun to read since. */
async function decide(entry: Entry, typed: Typed, signal: AbortSignal): Promise<Made> {
  const known = entry.facts;
  entry.facts = undefined;
  const made = known && (await decideBy(known, entry, typed, signal));
  if (made !== undefined && made.decision.kind !== 'refuse' && !isAhead(made.facts)) return made;
  return decideBy(await entry.host.ask('facts', { id: entry.id }, signal), entry, typed, signal);
}

const isAhead = ({ isForShell, isShellInFront }: InputFacts): boolean => isForShell && !isShellInFront;

async function decideBy(
  known: InputFacts,
  { id, host, typing }: Entry,
  typed: Typed,
  signal: AbortSignal,
): Promise<Made> {
  const ask = (): Promise<InputFacts> => host.ask('facts', { id }, signal);
  let facts = known;
  let bytes = encodeTyped(typed, facts.modes);
  if (facts.isForShell && typing.needsLook(bytes, facts)) {
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
  return { decision: facts.isForShell ? typing.decide(bytes, facts) : { kind: 'open' }, bytes, facts };
}

async function sendBytes(
  entry: Entry,
  { guard, wait, typed }: InputOptions,
  { bytes, facts, isShown }: { bytes: Buffer; facts: InputFacts; isShown: boolean },
  signal: AbortSignal,
): Promise<SendResult> {
  const { id, host, typing } = entry;
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
  const result = await host.ask('send', request, signal);
  if (result.facts !== undefined) entry.facts = result.facts;
  if (result.sent === 'nothing') return result;
  if (facts.isForShell) typing.commit(bytes, facts);
  else typing.pass(bytes);
  return result;
}

/** The line first, and Enter when it is shown with nothing else. */
async function sendVerified(
  entry: Entry,
  input: InputOptions,
  { bytes, facts, line }: Made & { readonly line: string },
  signal: AbortSignal,
): Promise<SendResult> {
  const { id, host } = entry;
  const unfinished: InputOptions = { ...input, wait: undefined, typed: { kind: 'keys', keys: [] } };
  const typedLine = { bytes: bytes.subarray(0, -1), facts, isShown: true };
  const begun = await sendBytes(entry, unfinished, typedLine, signal);
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
  const entered = await sendBytes(entry, input, { bytes: ENTER, facts: now, isShown: true }, signal);
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
