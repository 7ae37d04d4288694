/** shell_execute: runs a command, and answers when it ended or when waiting longer would not help the caller. */
import { homedir } from 'node:os';
import * as z from 'zod';
import { locatePath } from '../base/config/paths.ts';
import { ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { type Execution, waitForEnd } from '../executions/executions.ts';
import {
  type AnswerOptions,
  answerOptions,
  describeExecution,
  type ExecutionData,
  executionFields,
} from './execution-answer.ts';
import { patienceMs } from './known-clients.ts';
import { reportProgress } from './report-progress.ts';
import { dimensionsInput, shellInput, toDimensions } from './terminal-fields.ts';
import { type Answer, type Call, defineTool, mapAnswer } from './tool.ts';
import { describeSeen, type WaitData, waitDataOf, waitFields, waitIn, waitWords } from './wait-answer.ts';
import { conditionInput, invalidWait, parseConditions } from './wait-input.ts';

/** The last two are what others call the first two: taken, and not listed. */
const MODES = ['foreground', 'background', 'detached', 'adaptive', 'sync', 'async'] as const;

const secondsUpTo = (most: number) => z.number().min(1).max(most).optional();

const inputSchema = () =>
  z.strictObject({
    command: z.string().min(1).describe('Shell command or script'),
    execution_mode: z
      .enum(MODES)
      .default('adaptive')
      .meta({ enum: MODES.slice(0, 4) }),
    working_directory: z.string().min(1).optional(),
    environment_variables: z.record(z.string(), z.string()).optional(),
    input_data: z.string().optional().describe('stdin'),
    timeout_seconds: secondsUpTo(LIMITS.timeoutSecondsMax).describe('Kill after, max 3600; foreground: 30'),
    foreground_timeout_seconds: secondsUpTo(LIMITS.foregroundTimeoutSecondsMax).describe(
      'Default 10, or timeout_seconds; max 300',
    ),
    max_output_size: z
      .number()
      .int()
      .min(LIMITS.maxOutputSizeMin)
      .max(LIMITS.maxOutputSizeMax)
      .optional()
      .describe('Bytes a stream; an answer shows 1 MiB at most'),
    fold: z.boolean().default(true).describe('Fold repeated lines of long output'),
    detail: z.boolean().default(false).describe('All fields and ids'),
    capture_stderr: z.boolean().default(true),
    merge_stderr: z.boolean().default(false).describe('One stream, exact order'),
    return_partial_on_timeout: z.boolean().default(true),
    session_id: z.string().min(1).max(200).optional().describe('Carries cd and exports to later calls'),
    wait_for: z
      .array(conditionInput())
      .optional()
      .describe('Answer once one holds (background, adaptive), e.g. [{"port":3000}]'),
    wait_mode: z.enum(['any', 'all']).default('any'),
    create_terminal: z.boolean().default(false).describe('Type it into a new terminal instead'),
    terminal_shell: shellInput().optional(),
    terminal_dimensions: dimensionsInput().optional(),
  });

type Input = z.output<ReturnType<typeof inputSchema>>;

export const shellExecute = defineTool({
  name: 'shell_execute',
  title: 'Run a command',
  description:
    'Runs a shell command. adaptive (default) waits foreground_timeout_seconds (raise it for builds), then lets it go on in the background; foreground waits and kills at timeout_seconds; background (servers) returns at once; detached also survives the server. stdin is empty unless input_data. Long output is shown head and tail; read_execution_output has all of it.',
  input: inputSchema,
  output: () => z.object({ ...executionFields(), wait: waitFields().wait }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  meta: { 'anthropic/alwaysLoad': true },
  async run(input, call) {
    checkTerminalParameters(input);
    if (input.create_terminal) return openTerminal(input, call);
    const { executions } = call.modules;
    const mode = modeOf(input.execution_mode);
    checkInputData(input.input_data);
    checkStreams(input);
    await checkWaitFor(input, mode, call);
    const patience = patienceMs(call.client, call.modules.settings.limits.maxWaitSeconds);
    const deadline = performance.now() + patience;
    const execution = await executions.start(
      {
        principal: call.principal,
        client: call.client.name,
        requestId: call.requestId,
        command: input.command,
        mode,
        workingDirectory: input.working_directory,
        environment: input.environment_variables ?? {},
        inputData: input.input_data,
        timeoutMs: timeoutMs(input, mode),
        captureStderr: input.capture_stderr,
        mergeStderr: input.merge_stderr,
        sessionId: input.session_id,
        patienceMs: patience,
        approval: call.approval,
      },
      call.signal,
    );
    const leftMs = deadline - performance.now();
    if (input.wait_for !== undefined) {
      try {
        return await waitForConditions(execution, input, call, leftMs);
      } catch (error) {
        // Nobody would ever learn its id.
        await execution.live?.end('terminated');
        throw error;
      }
    }
    if (mode === 'background' || mode === 'detached') return answer(execution, input, call, 'background');
    const limits = mode === 'adaptive' ? adaptiveLimits(input) : {};
    return waitAndAnswer(execution, input, call, { patienceMs: Math.max(leftMs, 0), ...limits });
  },
});

/** What a session carries, its terminal begins with. */
async function openTerminal(input: Input, call: Call): Promise<Answer<ExecutionData>> {
  const { execution } = await call.modules.terminals.create(
    {
      shellType: input.terminal_shell,
      dimensions: toDimensions(input.terminal_dimensions ?? { width: 120, height: 30 }),
      workingDirectory: input.working_directory,
      environment: input.environment_variables ?? {},
      sessionId: input.session_id,
      timeoutMs: timeoutMs(input, 'terminal'),
      autoSaves: true,
      command: input.command,
    },
    call,
  );
  return answer(execution, input, call, 'background');
}

/** Parameters that would do nothing are a mistake about what will happen. */
function checkTerminalParameters(input: Input): void {
  const parameters = input.create_terminal ? uselessInTerminal(input) : uselessElsewhere(input);
  const [parameter, hint] = parameters.find(([, , isGiven]) => isGiven) ?? [];
  if (parameter === undefined) return;
  const how = input.create_terminal ? 'with' : 'without';
  throw new ShellServerError('PARAM_002', `${parameter} has no effect ${how} create_terminal.`, {
    hint: `Leave it out. ${hint ?? ''}`.trimEnd(),
    details: { parameter },
  });
}

type Useless = readonly (readonly [name: string, hint: string, isGiven: boolean])[];

function uselessInTerminal(input: Input): Useless {
  const output = 'A terminal has one screen: terminal_get_output reads it.';
  const answered = 'A terminal is answered at once; terminal_get_output with timeout_seconds waits.';
  return [
    ['input_data', 'A terminal is typed into: terminal_send_input.', input.input_data !== undefined],
    ['execution_mode', answered, !['adaptive', 'background', 'async'].includes(input.execution_mode)],
    ['foreground_timeout_seconds', answered, input.foreground_timeout_seconds !== undefined],
    ['return_partial_on_timeout', answered, !input.return_partial_on_timeout],
    ['max_output_size', output, input.max_output_size !== undefined],
    ['fold', output, !input.fold],
    ['capture_stderr', output, !input.capture_stderr],
    ['merge_stderr', output, input.merge_stderr],
    ['wait_for', answered, input.wait_for !== undefined],
    ['wait_mode', answered, input.wait_mode !== 'any'],
  ];
}

function uselessElsewhere(input: Input): Useless {
  const hint = 'create_terminal: true opens a terminal.';
  return (['terminal_shell', 'terminal_dimensions'] as const).map(
    (name) => [name, hint, input[name] !== undefined] as const,
  );
}

/** Before anything runs: a mistake in them should not cost the command. */
async function checkWaitFor(input: Input, mode: string, call: Call): Promise<void> {
  if (input.wait_for === undefined) return;
  if (mode === 'foreground')
    throw invalidWait(
      'wait_for has no effect in the foreground.',
      'Use execution_mode "background" or "adaptive" with it.',
    );
  const { executions, security } = call.modules;
  const { sessions } = executions;
  const carried =
    input.session_id !== undefined && sessions.has(call.principal, input.session_id)
      ? sessions.get(call.principal, input.session_id).directory
      : undefined;
  const start = carried ?? sessions.defaultDirectory(call.principal);
  const directory = locatePath(input.working_directory ?? '.', { directory: start, homedir: homedir() });
  const conditions = parseConditions(input.wait_for, directory, call);
  if (
    conditions.some(({ kind }) => kind === 'url') &&
    (await security.waitRules.hasOwnNetwork(call.principal))
  )
    throw invalidWait(
      'A url cannot be waited for: the sandbox has a network of its own.',
      'Wait for the port or for output instead.',
    );
}

/** The command goes on in the background, however the wait ends. */
async function waitForConditions(
  execution: Execution,
  input: Input,
  call: Call,
  leftMs: number,
): Promise<Answer<ExecutionData & Pick<WaitData, 'wait'>>> {
  const { executions } = call.modules;
  reportProgress(execution, call);
  const conditions = parseConditions(input.wait_for ?? [], execution.record.directory, call);
  const asked = (input.foreground_timeout_seconds ?? Number.POSITIVE_INFINITY) * 1000;
  const wait = { mode: input.wait_mode, timeoutMs: Math.max(0, Math.min(asked, leftMs)) };
  const report = await waitIn([{ execution, conditions }], wait, call);
  call.signal.throwIfAborted();
  const isRunning = execution.record.outcome === undefined;
  if (isRunning) executions.letGo(execution);
  const described = await answer(execution, input, call, isRunning ? 'background' : undefined);
  const again = 'process_get_execution with the same wait_for';
  const words = waitWords(report, conditions, { many: false, again });
  return mapAnswer(described, ({ data, text }) => ({
    data: { ...data, wait: waitDataOf(report) },
    text: `${text}\n${words}`,
  }));
}

async function waitAndAnswer(
  execution: Execution,
  input: Input,
  call: Call,
  limits: Parameters<typeof waitForEnd>[1],
): Promise<Answer<ExecutionData>> {
  const { live } = execution;
  if (live === undefined) return answer(execution, input, call, undefined);
  reportProgress(execution, call);
  const waited = await waitForEnd(live, limits, call.signal);
  if (waited.kind === 'aborted') {
    await live.end('terminated');
    call.signal.throwIfAborted();
  }
  if (waited.kind === 'running') {
    call.modules.executions.letGo(execution);
    return answer(execution, input, call, waited.why);
  }
  if (execution.record.outcome?.status === 'timeout' && !input.return_partial_on_timeout)
    throw timedOut(execution);
  return answer(execution, input, call, undefined);
}

async function answer(
  execution: Execution,
  input: Input,
  call: Call,
  why: AnswerOptions['why'],
): Promise<Answer<ExecutionData>> {
  const options = answerOptions(call, {
    perStreamBytes: input.max_output_size,
    folds: input.fold,
    detail: input.detail,
    why,
    notice: call.modules.security.shellNotice({ principal: call.principal }),
  });
  // What goes on is looked at again, and then shows what is new.
  const described = await (why === undefined
    ? describeExecution(execution, options)
    : describeSeen(execution, options, call, false));
  // One that was cancelled is not sent.
  if (!call.signal.aborted) call.modules.executions.answered(execution);
  return described;
}

function modeOf(typed: (typeof MODES)[number]): 'foreground' | 'background' | 'detached' | 'adaptive' {
  if (typed === 'sync') return 'foreground';
  return typed === 'async' ? 'background' : typed;
}

/** A caller that gives a time to run, and nothing else, waits for it that long. */
function adaptiveLimits(input: Input) {
  const { foreground_timeout_seconds: asked, timeout_seconds: timeout } = input;
  const waited = asked ?? (timeout === undefined ? LIMITS.foregroundTimeoutSecondsDefault : undefined);
  return {
    foregroundMs: waited && waited * 1000,
    outputBytes: input.max_output_size ?? LIMITS.maxOutputSizeDefault,
  };
}

function timeoutMs(input: Input, mode: string): number | undefined {
  const limit = input.timeout_seconds ?? (mode === 'foreground' ? LIMITS.timeoutSecondsDefault : undefined);
  return limit && limit * 1000;
}

function checkInputData(data: string | undefined): void {
  if (data === undefined || Buffer.byteLength(data) <= LIMITS.inputDataBytes) return;
  const mib = LIMITS.inputDataBytes / 1024 / 1024;
  throw new ShellServerError('PARAM_002', `input_data is larger than ${mib} MiB.`, {
    hint: 'Write it to a file and let the command read that.',
    details: { parameter: 'input_data' },
  });
}

function checkStreams(input: Input): void {
  if (input.capture_stderr || !input.merge_stderr) return;
  throw new ShellServerError('PARAM_002', 'merge_stderr is true while capture_stderr is false.', {
    hint: 'Merge stderr into the output, or discard it: not both.',
    details: { parameter: 'merge_stderr' },
  });
}

function timedOut({ record, bundle }: Execution): ShellServerError {
  const seconds = (record.timeoutMs ?? 0) / 1000;
  const outputId = bundle.outputId('stdout') ?? bundle.outputId('combined');
  return new ShellServerError('EXECUTION_002', `Command timed out after ${seconds} seconds.`, {
    hint: `Its output is stored: read_execution_output with output_id "${outputId}". Raise timeout_seconds, or use execution_mode "background".`,
    details: {
      execution_id: record.id,
      output_id: outputId,
      survivors: record.outcome?.survivors,
    },
  });
}
