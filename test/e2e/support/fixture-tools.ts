/**
 * Tiny tools for testing the edge without a single process: one that answers, one that waits and records how it
 * ended, one that reports progress, and ones that fail.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { systemClock } from '../../../src/base/clock.ts';
import { ShellServerError } from '../../../src/base/errors.ts';
import { type Log, silentLog } from '../../../src/base/log.ts';
import { createDefinitions } from '../../../src/server/definitions.ts';
import { createServerFactory, type ServerFactory } from '../../../src/server/server.ts';
import type { Modules } from '../../../src/tools/modules.ts';
import { type Call, defineTool, type Tool } from '../../../src/tools/tool.ts';
import { createValidatingDispatch } from '../../support/validating-dispatch.ts';

const ANNOTATIONS = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

export interface FixtureTools {
  readonly tools: readonly Tool[];
  /** What `wait` saw, in order: "started <label>", "aborted <label>", "done <label>". */
  readonly seen: string[];
  readonly calls: Call[];
  until(entry: string): Promise<void>;
}

export function createFixtureTools(onSeen: (entry: string) => void = () => undefined): FixtureTools {
  const seen: string[] = [];
  const calls: Call[] = [];
  const see = (entry: string): void => {
    seen.push(entry);
    onSeen(entry);
  };

  const echo = defineTool({
    name: 'echo',
    title: 'Echo',
    description: 'Answers with its text.',
    input: () => z.object({ text: z.string().min(1), size: z.number().int().min(0).max(1e8).optional() }),
    output: () => z.object({ text: z.string(), client: z.string(), principal: z.string() }),
    annotations: ANNOTATIONS,
    takesTurns: true,
    meta: { 'anthropic/alwaysLoad': true },
    async run({ text, size = 0 }, call) {
      calls.push(call);
      const answer = text + 'x'.repeat(size);
      const client = `${call.client.name} ${call.client.version}`;
      return { data: { text: answer, client, principal: call.principal }, text: answer };
    },
  });

  const wait = defineTool({
    name: 'wait',
    title: 'Wait',
    description: 'Waits, unless it is cancelled.',
    input: () => z.object({ label: z.string(), ms: z.number().int().min(0).max(60_000) }),
    output: () => z.object({ waited: z.number() }),
    annotations: ANNOTATIONS,
    async run({ label, ms }, { signal }) {
      see(`started ${label}`);
      try {
        await sleep(ms, undefined, { signal });
      } catch (error) {
        see(`aborted ${label}`);
        throw error;
      }
      see(`done ${label}`);
      return { data: { waited: ms }, text: `Waited ${ms} ms.` };
    },
  });

  const count = defineTool({
    name: 'count',
    title: 'Count',
    description: 'Reports each number as progress, then answers.',
    input: () =>
      z.object({ to: z.number().int().min(1).max(100_000), everyMs: z.number().min(0).default(0) }),
    output: () => z.object({ counted: z.number(), reported: z.boolean() }),
    annotations: ANNOTATIONS,
    async run({ to, everyMs }, { progress, signal }) {
      for (let number = 1; number <= to; number++) {
        progress?.(`${number}\n`);
        if (signal.aborted) see('aborted count');
        signal.throwIfAborted();
        if (everyMs > 0) await sleep(everyMs);
      }
      setTimeout(() => progress?.('too late'), 20);
      return { data: { counted: to, reported: progress !== undefined }, text: `Counted to ${to}.` };
    },
  });

  const fail = defineTool({
    name: 'fail',
    title: 'Fail',
    description: 'Fails on purpose, or not.',
    input: () => z.object({ how: z.enum(['denied', 'bug', 'bad_answer', 'text_only']) }),
    output: () => z.object({ never: z.string().optional() }),
    annotations: ANNOTATIONS,
    async run({ how }) {
      if (how === 'denied') {
        throw new ShellServerError('SECURITY_003', 'A rule forbids it.', { details: { rule: 'rm' } });
      }
      if (how === 'bug') throw new Error('secret path /home/me/.ssh', { cause: new Error('the cause') });
      if (how === 'bad_answer') return { data: { other: 1 } as never, text: 'other' };
      return { data: {}, text: 'it failed in its own words', isError: true };
    },
  });

  return {
    tools: [echo, wait, count, fail],
    seen,
    calls,
    async until(entry) {
      const deadline = Date.now() + 5000;
      while (!seen.includes(entry)) {
        if (Date.now() > deadline) throw new Error(`"${entry}" did not come; seen: ${seen.join(', ')}`);
        await sleep(5);
      }
    },
  };
}

export const NO_MODULES = {} as unknown as Modules;

/** What a server of the fixture tools offers. */
export function createFixtureOffer(fixtures: FixtureTools, log: Log = silentLog) {
  const dispatch = createValidatingDispatch({
    tools: fixtures.tools,
    modules: NO_MODULES,
    log,
    clock: systemClock,
  });
  return {
    onCaller: () => undefined,
    dispatch: () => dispatch,
    methods: dispatch.methods,
    definitions: createDefinitions(fixtures.tools),
    info: { version: '0.0.0-test' },
    instructions: () => 'Fixture tools.',
  };
}

/** The same, by the SDK. */
export function createFixtureFactory(fixtures: FixtureTools, log: Log = silentLog): ServerFactory {
  const offer = createFixtureOffer(fixtures, log);
  return createServerFactory({ ...offer, dispatch: offer.dispatch() });
}
