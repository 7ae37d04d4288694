/** The lines of the audit log about calls, questions to a person, and denied requests. */
import { isObject } from '../base/objects.ts';
import { type AuditEntry, MASK, type Mask, maskBeginning, secretValues } from '../security/security.ts';
import type { Tool } from '../tools/tool.ts';
import type { ApprovalEntry } from './approvals.ts';
import type { CallEntry } from './call-entry.ts';
import type { DeniedRequest } from './http/denial-log.ts';

/** Every call is on record; what a command was, and whether it might run, security has written before it ran. */
export function callLine({ client, input, ...entry }: CallEntry, mask: Mask): AuditEntry {
  const secrets = valuesIn(input);
  const maskAll: Mask = (text) => mask(secrets.reduce((left, secret) => left.replaceAll(secret, MASK), text));
  return { event: 'call', ...entry, client: client.name, input: shorten(input, maskAll) };
}

/** Of some tools only some parameters are recorded with the call: what is typed into a terminal has a line of its own. */
export function recordedInput(input: unknown, { recorded }: Pick<Tool, 'recorded'>): unknown {
  if (recorded === undefined) return input;
  if (input === null || typeof input !== 'object') return undefined;
  return Object.fromEntries(Object.entries(input).filter(([name]) => recorded.includes(name)));
}

/** Who was asked for what, and what they said: written before the command runs, or it does not. */
export function approvalLine({ client, ...entry }: ApprovalEntry): AuditEntry {
  return { ...entry, decision: ANSWERS[entry.event], client: client.name };
}

/** Of a denied request only the address is known. */
export function deniedRequestLine(entry: DeniedRequest): AuditEntry {
  return { event: 'request_refused', decision: 'deny', principal: 'nobody', ...entry };
}

const ANSWERS = { approval_asked: 'ask', approval_given: 'allow', approval_refused: 'deny' } as const;

/** Of a long text only the beginning: input_data may have megabytes. */
function shorten(input: unknown, mask: Mask): unknown {
  if (typeof input === 'string')
    return input.length > 500 ? `${maskBeginning(input, 500, mask)}…` : mask(input);
  if (Array.isArray(input)) return input.map((item) => shorten(item, mask));
  if (input === null || typeof input !== 'object') return input;
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [key, shorten(value, mask)]));
}

/** What the call itself says is a secret, by the names of its variables; the longest first: one may begin with another. */
function valuesIn(input: unknown): string[] {
  if (!isObject(input)) return [];
  return Object.values(input)
    .flatMap((value: unknown) => (isVariables(value) ? secretValues(value) : []))
    .toSorted((one, other) => other.length - one.length);
}

function isVariables(value: unknown): value is Readonly<Record<string, string>> {
  return isObject(value) && Object.values(value).every((each) => typeof each === 'string');
}
