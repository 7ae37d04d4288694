import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { answerQuestion, createQuestions, listQuestions, type Subject } from './questions.ts';

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
  const [open] = listQuestions(stateDir, Date.now());
  const answer = { decision: 'deny', by: 'operator' } as const;
  answerQuestion(stateDir, open?.id ?? '', answer, Date.now());
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
