/**
 * shell_exec and shell/exec: run a command, wait for its end, answer with all of it. The tool takes a shell string
 * or a program with its arguments; the JSON-RPC method takes the latter alone.
 */
import { constants } from 'node:os';
import * as z from 'zod';
import { ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { quoteWord } from '../security/security.ts';
import { type Answer, type Call, type DataOf, defineTool } from '../tools/tool.ts';
import { type Ended, runToEnd, withLess } from './run-to-end.ts';
import { type Asked, asShellExecError } from './shell-exec-errors.ts';

const inputSchema = () =>
  z.strictObject({
    command: z.string().min(1),
    args: z.array(z.string()).max(10_000).optional(),
    cwd: z.string().min(1).optional(),
    env: z.record(z.string(), z.string()).optional(),
  });

type Input = z.output<ReturnType<typeof inputSchema>>;

const resultFields = () => ({
  command: z.string(),
  exitCode: z.number(),
  stdout: z.string(),
  stderr: z.string(),
  success: z.boolean(),
});

const annotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

const toolOutput = () =>
  z.object({
    ...resultFields(),
    message: z.string(),
    truncated: z.boolean(),
  });

export const shellExec = defineTool({
  name: 'shell_exec',
  title: 'Run a command and wait',
  description:
    'Runs command in a shell and waits for its end; with args, runs the program command with exactly these arguments and no shell.',
  input: inputSchema,
  output: toolOutput,
  annotations,
  isExact: true,
  async run(input, call) {
    const ended = await runCommand(input, call);
    return answerOf(ended, textOf(input), describe);
  },
});

/** The JSON-RPC method, with exactly the fields that its clients expect. */
export const execMethod = defineTool({
  name: 'shell/exec',
  title: 'Run a program',
  description: 'Runs an allowed program with its arguments and waits for its end.',
  input: inputSchema,
  output: () => z.object(resultFields()),
  annotations,
  isExact: true,
  async run(input, call) {
    const asked = { ...input, args: input.args ?? [] };
    const ended = await runCommand(asked, call);
    if (ended.outcome.reason === 'timeout') throw timedOut(ended);
    // A method is answered with the data alone.
    return answerOf(ended, textOf(asked), (all, command) => ({ data: resultOf(all, command), text: '' }));
  },
});

type View = (ended: Ended, command: string) => Answer<Result>;

const answerOf = (ended: Ended, command: string, view: View): Answer<Result> => ({
  ...view(ended, command),
  async shorter(share) {
    const less = await withLess(ended, share);
    return less && answerOf(less, command, view);
  },
});

async function runCommand({ command, args, cwd, env }: Input, call: Call): Promise<Ended> {
  const asked: Asked = { command, args };
  try {
    return await runToEnd(
      {
        command: args === undefined ? command : [command, ...args].map(quoteWord).join(' '),
        argv: args === undefined ? undefined : [command, ...args],
        directory: cwd,
        environment: env,
        timeoutSeconds: call.modules.settings.limits.shellExecSeconds,
        outputBytes: LIMITS.maxOutputSizeDefault,
      },
      call,
    );
  } catch (error) {
    throw asShellExecError(error, asked, call);
  }
}

const textOf = ({ command, args = [] }: Input): string => [command, ...args].join(' ');

type Result = DataOf<typeof toolOutput>;

/** `shell/exec` shows outputs without the trailing newline that every program prints. */
const trimEnd = (text: string): string => text.replace(/(?:\r?\n)+$/, '');

function resultOf({ outcome, stdout, stderr }: Ended, command: string): Result {
  return {
    command,
    exitCode: outcome.exitCode ?? signalCode(outcome.signal),
    stdout: trimEnd(stdout),
    stderr: trimEnd(stderr),
    success: outcome.status === 'completed',
  };
}

/** As a shell would say it. */
function signalCode(signal: string | undefined): number {
  return 128 + (Object.entries(constants.signals).find(([name]) => name === signal)?.[1] ?? 0);
}

const timeoutText = ({ timeoutSeconds }: Ended): string => `Command timeout after ${timeoutSeconds} seconds`;

function timedOut(ended: Ended): ShellServerError {
  return new ShellServerError('EXECUTION_002', timeoutText(ended), {
    hint: 'The operator can change the limit with limits.shell_exec_seconds.',
  });
}

function describe(ended: Ended, command: string): Answer<Result> {
  const { outcome, isCut } = ended;
  const result = { ...resultOf(ended, command), ...(isCut && { truncated: true }) };
  const cut = isCut ? `[only the first ${ended.outputBytes} bytes of each stream]` : '';
  if (outcome.status === 'completed') {
    const { explanation } = outcome;
    return {
      data: { ...result, ...(explanation !== undefined && { message: explanation }) },
      text: lines(result.stdout, labelled(result.stderr), cut, explanation),
    };
  }
  const message = describeFailure(ended);
  return {
    data: { ...result, message },
    text: lines(message, result.stdout, labelled(result.stderr), cut),
    isError: true,
  };
}

function describeFailure(ended: Ended): string {
  const { outcome } = ended;
  if (outcome.reason === 'timeout') return timeoutText(ended);
  const how =
    outcome.exitCode === undefined
      ? `Command was ended by ${outcome.signal ?? outcome.reason}`
      : `Command failed with exit code ${outcome.exitCode}`;
  return outcome.explanation === undefined ? how : `${how}. ${outcome.explanation}`;
}

const labelled = (stderr: string | undefined): string =>
  stderr === undefined || stderr === '' ? '' : `[stderr]\n${stderr}`;

const lines = (...parts: (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined && part !== '').join('\n');
