/** What the audit log is told of calls, of questions to a person, and of those who were not let in. */
import { type AuditEntry, maskText } from '../security/security.ts';
import type { Tool } from '../tools/tool.ts';
import type { ApprovalEntry } from './approvals.ts';
import type { CallEntry } from './dispatch.ts';
import type { TurnedAway } from './http-doorkeeper.ts';

/** Every call is on record; what a command was, and whether it might run, security has written before it ran. */
export function callLine({ client, input, ...entry }: CallEntry): AuditEntry {
  return { event: 'call', ...entry, client: client.name, input: shorten(input) };
}

/** Of some tools only some parameters are told with the call: what is typed into a terminal has a line of its own. */
export function recordedInput(input: unknown, { recorded }: Pick<Tool, 'recorded'>): unknown {
  if (recorded === undefined) return input;
  if (input === null || typeof input !== 'object') return undefined;
  return Object.fromEntries(Object.entries(input).filter(([name]) => recorded.includes(name)));
}

/** Who was asked for what, and what they said: written before the command runs, or it does not. */
export function approvalLine({ client, ...entry }: ApprovalEntry): AuditEntry {
  return { ...entry, decision: ANSWERS[entry.event], client: client.name };
}

/** Of whoever was turned away only the address is known. */
export function turnedAwayLine(entry: TurnedAway): AuditEntry {
  return { event: 'request_refused', decision: 'deny', principal: 'nobody', ...entry };
}

const ANSWERS = { approval_asked: 'ask', approval_given: 'allow', approval_refused: 'deny' } as const;

/** Of a long text only the beginning: input_data may have megabytes. */
function shorten(input: unknown): unknown {
  // Masked first: a secret that was cut has no longer the shape by which it is known.
  if (typeof input === 'string')
    return input.length > 500 ? `${maskText(input.slice(0, 5000)).slice(0, 500)}…` : input;
  if (Array.isArray(input)) return input.map(shorten);
  if (input === null || typeof input !== 'object') return input;
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [key, shorten(value)]));
}
