/** Answers of the page's server. Errors say what happened and what to do, and a bug says nothing of itself. */
import type { ServerResponse } from 'node:http';
import { ZodError } from 'zod';
import { messageOf, ShellServerError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Refusal } from './page-guard.ts';
import type { ErrorAnswer } from './wire.ts';

export function answerJson(response: ServerResponse, status: number, data: unknown): void {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  });
  response.end(JSON.stringify(data));
}

export function answerRefusal(response: ServerResponse, { status, ...answer }: Refusal): void {
  answerJson(response, status, answer satisfies ErrorAnswer);
}

export function answerError(response: ServerResponse, error: unknown, log: Log): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status, answer } = describe(error);
  if (status === 500) log.error('the page could not be answered', { error: messageOf(error) });
  answerJson(response, status, answer);
}

function describe(error: unknown): { readonly status: number; readonly answer: ErrorAnswer } {
  if (error instanceof ZodError) {
    const [issue] = error.issues;
    const message = `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not valid'}`;
    return { status: 400, answer: { code: 'PARAM_002', message } };
  }
  if (error instanceof ShellServerError) {
    const { code, message, hint } = error;
    const status = code.startsWith('RESOURCE') ? 404 : code.startsWith('PARAM') ? 400 : 500;
    return { status, answer: { code, message, hint } };
  }
  return { status: 500, answer: { code: 'SYSTEM_001', message: 'The page could not be answered.' } };
}
