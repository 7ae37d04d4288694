import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { attemptOr } from '../../base/attempt.ts';
import { deadlineIn, msUntil } from '../../base/boot.ts';
import { ticks } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { questionDirectory, writeRecord } from './question-store.ts';
import {
  answerQuestion,
  createQuestions,
  listQuestions,
  listStandingApprovals,
  type StandingApproval,
  type Subject,
} from './questions.ts';

const HOUR_MS = 3_600_000;
const SUBJECT: Subject = {
  binding: 'one',
  principal: 'local',
  client: 'test',
  tool: 'shell_execute',
  command: 'true',
  parts: ['true'],
  directory: '/',
  rule: 'ask: true',
  text: 'Run true?',
};

function setUp() {
  const stateDir = mkdtempSync(join(tmpdir(), 'mcp-shell-questions-'));
  let offsetMs = 0;
  const clock = { now: () => Date.now() + offsetMs };
  const questions = createQuestions({ stateDir, instance: 'inst', clock, seconds: 60 });
  onTestFinished(() => {
    questions.dispose();
    rmSync(stateDir, { recursive: true, force: true });
  });
  return {
    stateDir,
    questions,
    step(ms: number): void {
      offsetMs = ms;
    },
  };
}

test.each([
  ['forward', 8 * HOUR_MS],
  ['back', -8 * HOUR_MS],
])('an answer is taken although the clock was set %s while it was waited for', async (_, stepMs) => {
  const { stateDir, questions, step } = setUp();
  const asking = questions.ask(SUBJECT, { timeoutMs: 60_000, signal: new AbortController().signal });
  step(stepMs);
  const [open] = listQuestions(stateDir);
  const answer = { decision: 'deny', by: 'operator' } as const;
  answerQuestion(stateDir, open?.id ?? '', answer);
  expect(await asking).toEqual({ id: open?.id, answer });
});

test.each([
  ['forward', 8 * HOUR_MS],
  ['back', -8 * HOUR_MS],
])('a clock that is set %s does not change how long an answer is waited for', async (_, stepMs) => {
  const { questions, step } = setUp();
  const began = performance.now();
  const asking = questions.ask(SUBJECT, { timeoutMs: 500, signal: new AbortController().signal });
  step(stepMs);
  expect((await asking).answer).toBeUndefined();
  expect(performance.now() - began).toBeGreaterThan(490);
});

const SIGNAL = new AbortController().signal;

test.each([
  ['forward', 8 * HOUR_MS],
  ['back', -8 * HOUR_MS],
])('a question stays the same one, with its answer, although the clock is set %s', async (_, stepMs) => {
  const { stateDir, questions, step } = setUp();
  const { id } = await questions.ask(SUBJECT, { timeoutMs: 10, signal: SIGNAL });
  step(stepMs);
  expect(listQuestions(stateDir)).toMatchObject([{ id }]);
  expect(await questions.ask(SUBJECT, { timeoutMs: 10, signal: SIGNAL })).toEqual({ id, answer: undefined });
  const answer = { decision: 'allow', remember: 'once', by: 'operator' } as const;
  answerQuestion(stateDir, id, answer);
  expect(questions.settle(SUBJECT.binding)).toEqual(answer);
});

test.each([
  ['ends in a minute', {}, 1],
  ['has ended', { ticks: ticks() - 1 }, 0],
  ['is of another boot', { boot: 'another' }, 0],
])('a question whose deadline %s is open or not', async (_, deadline, open) => {
  const { stateDir, questions } = setUp();
  const { id } = await questions.ask(SUBJECT, { timeoutMs: 10, signal: SIGNAL });
  const directory = questionDirectory(stateDir);
  const [asked] = listQuestions(stateDir);
  const question = { ...asked, id, deadline: { ...deadlineIn(60_000), ...deadline } };
  writeRecord(directory, question);
  expect(listQuestions(stateDir)).toHaveLength(open);
  const answering = (): unknown => answerQuestion(stateDir, id, { decision: 'deny', by: 'operator' });
  expect(attemptOr(answering, messageOf)).toEqual(
    open === 1 ? question : `Question ${JSON.stringify(id)} is not open.`,
  );
});

test.each([
  ['for an hour holds', 'hour', 0, 1],
  ['for an hour has ended where the clock is past it', 'hour', HOUR_MS, 0],
  ['for an hour is not prolonged by a clock that is set back', 'hour', -8 * HOUR_MS, 1],
] as const)('an approval %s', (_, remember, stepMs, held) => {
  const { stateDir, questions, step } = setUp();
  questions.grant(SUBJECT, { decision: 'allow', remember, by: 'operator' });
  step(stepMs);
  expect(questions.standing(SUBJECT.binding) === undefined ? 0 : 1).toBe(held);
  const [approval] = listStandingApprovals(stateDir, 0);
  if (approval === undefined) throw new Error('no approval');
  expect(msUntil(approval.deadline)).toBeLessThanOrEqual(HOUR_MS);
  writeRecord(questionDirectory(stateDir), { ...approval, deadline: deadlineIn(0) } as StandingApproval);
  expect(questions.standing(SUBJECT.binding)).toBeUndefined();
});
