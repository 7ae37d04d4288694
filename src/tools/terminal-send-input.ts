/** terminal_send_input: types into a terminal, and if asked waits for what comes of it. */
import * as z from 'zod';
import { isoTime } from '../base/clock.ts';
import { ShellServerError } from '../base/errors.ts';
import { renameId } from '../base/ids.ts';
import { LIMITS } from '../base/limits.ts';
import {
  type ReadResult,
  readControlCodes,
  readHex,
  type SendResult,
  type Typed,
} from '../terminals/terminals.ts';
import { answerBytes } from './known-clients.ts';
import {
  describeEnd,
  describeFront,
  describeWait,
  foregroundText,
  frontOutput,
  promptWords,
  type TerminalEnd,
  waitInput,
  waitOf,
  waitOutput,
  waitWords,
} from './terminal-fields.ts';
import { fitScreen, fitWritten, type Written } from './terminal-output.ts';
import { type Call, defineTool } from './tool.ts';

const inputSchema = () =>
  z.strictObject({
    terminal_id: z.string(),
    input: z.string().optional(),
    execute: z.boolean().default(false).describe('Press Enter after it'),
    control_codes: z
      .boolean()
      .default(false)
      .describe('^C, \\x03, \\e[A, \\t in input are control characters'),
    raw_bytes: z.boolean().default(false).describe('input is hexadecimal'),
    keys: z
      .array(z.string().min(1).max(40))
      .min(1)
      .max(1000)
      .optional()
      .describe('["ctrl+c", "up", "f5"], instead of input'),
    send_to: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        'Only if this program is in the foreground: name, path, "pid:N", "sessionleader:" (the shell), "*"',
      ),
    ...waitInput(),
  });

type Input = z.output<ReturnType<typeof inputSchema>>;

export const terminalSendInput = defineTool({
  name: 'terminal_send_input',
  title: 'Type into a terminal',
  description:
    'Types into a terminal; for a command give execute: true and timeout_seconds. With timeout_seconds (or wait_for, wait_idle_ms) it waits until the command has ended, input is wanted or the pattern matches, and answers with the new output and the exit code. Without, it answers at once.',
  input: inputSchema,
  output: () =>
    z.object({
      success: z.boolean(),
      terminal_id: z.string(),
      input_sent: z.string(),
      control_codes_enabled: z.boolean(),
      raw_bytes_mode: z.boolean(),
      program_guard: z.object({ passed: z.boolean(), target: z.string(), foreground_process: frontOutput() }),
      timestamp: z.string(),
      output: z.string(),
      output_truncated: z.boolean(),
      full_screen: z.boolean(),
      foreground_process: frontOutput(),
      message: z.string(),
      ...waitOutput(),
    }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  recorded: [
    'terminal_id',
    'execute',
    'control_codes',
    'raw_bytes',
    'send_to',
    'wait_idle_ms',
    'timeout_seconds',
  ],
  async run(input, call) {
    const typed = typedOf(input);
    const wait = waitOf(input, call);
    const { terminals, clock } = call.modules;
    const result = await terminals.send(input.terminal_id, { typed, guard: input.send_to, wait }, call);
    const isSent = result.sent !== 'nothing';
    const said = {
      success: isSent,
      terminal_id: input.terminal_id,
      input_sent: isSent ? shownInput(input) : '',
      control_codes_enabled: input.control_codes,
      raw_bytes_mode: input.raw_bytes,
      ...(input.send_to !== undefined && {
        program_guard: {
          passed: result.why !== 'guard',
          target: input.send_to,
          foreground_process: describeFront(result.front),
        },
      }),
      timestamp: isoTime(clock.now()),
    };
    const end = await describeEnd(call, input.terminal_id, result.outcome !== undefined);
    if (!isSent) {
      const message = whyNothing(result, input);
      const words = end.words.map((each) => ` ${each}.`).join('');
      return { data: { ...said, message, ...end.ended }, text: message + words };
    }
    if (result.waited === undefined) {
      const message =
        result.sent === 'all'
          ? `${result.bytes} bytes were sent to ${foregroundText(result.front)}.`
          : 'The foreground process is not reading; the rest is delivered when it does.';
      return { data: { ...said, message }, text: message };
    }
    const explanation = await explain(input, result, call);
    return answerWaited(call, result, said, { end, explanation });
  },
});

/** Why a command that was typed failed, or what it read as empty. */
async function explain(
  { terminal_id, input: command, control_codes, raw_bytes, execute }: Input,
  { waited, facts }: SendResult,
  call: Call,
): Promise<string | undefined> {
  const { exitCode, commandOutput = '' } = waited ?? {};
  const isText = execute && !control_codes && !raw_bytes;
  if (command === undefined || !isText || exitCode === undefined || waited?.reason !== 'command_done')
    return undefined;
  const { executions, security } = call.modules;
  const { record } = await executions.get(call.principal, renameId(terminal_id, 'exec'));
  return security.explainEnd({
    reason: 'exit',
    exitCode,
    command,
    principal: call.principal,
    directory: facts?.workingDirectory ?? record.directory,
    path: record.environment['PATH'] ?? (await executions.commandPath()),
    isSandboxed: record.process?.isSandboxed === true,
    startedAtMs: call.modules.clock.now() - waited.waitedMs,
    stderr: undefined,
    output: () => commandOutput.slice(-EXPLAINED_CHARS),
  }).explanation;
}

/** Of what it printed. */
const EXPLAINED_CHARS = 8 * 1024;

function answerWaited<Said extends object>(
  call: Call,
  result: SendResult,
  said: Said,
  { end, explanation }: { readonly end: TerminalEnd; readonly explanation: string | undefined },
) {
  const { waited, after: view, screen } = result;
  if (view === undefined) return { data: said, text: '' };
  const maxBytes = Math.min(call.modules.settings.limits.inlineOutputBytes, answerBytes(call.client));
  // A full-screen program has no lines, only what it shows.
  const isDrawn = screen !== undefined && waited?.commandOutput === undefined;
  const { text, isCut } = isDrawn
    ? fitScreen(screen, maxBytes, 'terminal_get_output with view "screen" has them')
    : fitWritten(writtenOf(result, view), maxBytes);
  const words = [...waitWords(waited, promptWords(call, view)), ...end.words];
  const front =
    waited?.reason === 'command_done' || waited?.reason === 'exited'
      ? []
      : [`foreground: ${foregroundText(view.front)}`];
  return {
    data: {
      ...said,
      output_truncated: isCut,
      full_screen: view.isAlternate,
      foreground_process: describeFront(view.front),
      ...describeWait(waited, view.isSecretPrompt),
      ...end.ended,
      ...(explanation !== undefined && { message: explanation }),
      output: text,
    },
    text: `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}[${[...words, ...front].join('; ')}]${explanation === undefined ? '' : `\n${explanation}`}`,
  };
}

/** What the shell says that the command wrote, or else all lines since the input. */
function writtenOf({ waited, fromLine, fromText, head = [] }: SendResult, view: ReadResult): Written {
  const { commandOutput, untilLine } = waited ?? {};
  if (commandOutput !== undefined && untilLine !== undefined) {
    const lines = commandOutput.split('\n');
    const first = untilLine - lines.length + 1;
    if (waited?.isCommandOutputCut !== true) return { start: first, head: [], tailFrom: first, tail: lines };
    // The first that is left may have begun before.
    return { start: fromLine, head, tailFrom: first + 1, tail: lines.slice(1) };
  }
  const end = untilLine === undefined || view.isAlternate ? undefined : Math.max(0, untilLine - view.from);
  const lines = view.lines.slice(0, end);
  if (view.from > fromLine) return { start: fromLine, head, tailFrom: view.from, tail: lines };
  const tail = withoutQuestion(lines, fromText);
  const tailFrom = view.from + lines.length - tail.length;
  return { start: tailFrom, head: [], tailFrom, tail };
}

/** The question precedes what came after the answer, in the same line unless the program began another. */
function withoutQuestion(lines: readonly string[], question: string): readonly string[] {
  const [first = '', ...rest] = lines;
  if (question === '' || !first.startsWith(question)) return lines;
  const left = first.slice(question.length).trimStart();
  return left === '' ? rest : [left, ...rest];
}

function typedOf(input: Input): Typed {
  const { input: text, keys, control_codes: hasCodes, raw_bytes: isHex, execute: isEntered } = input;
  const given = [keys !== undefined, hasCodes, isHex].filter(Boolean).length;
  if (given > 1 || (keys !== undefined && text !== undefined)) {
    throw new ShellServerError('PARAM_002', 'keys, control_codes and raw_bytes cannot be combined.', {
      hint: 'Give input with one of them, or keys alone.',
    });
  }
  if (keys !== undefined) return { kind: 'keys', keys: isEntered ? [...keys, 'enter'] : keys };
  if (text === undefined && !isEntered)
    throw new ShellServerError('PARAM_001', 'input or keys is missing.', {
      hint: 'Give input, or keys such as ["ctrl+c"]; execute: true alone sends Enter.',
      details: { name: 'InvalidParameters' },
    });
  if (Buffer.byteLength(text ?? '') > LIMITS.terminalInputBytes) {
    throw new ShellServerError('PARAM_002', `input is longer than ${LIMITS.terminalInputBytes / 1024} KiB.`, {
      hint: 'Write it to a file with shell_execute (input_data), and let the program read that.',
      details: { parameter: 'input' },
    });
  }
  if (hasCodes) return enterAtEnd(readControlCodes(text ?? ''), isEntered);
  if (!isHex) return textTyped(text ?? '', isEntered);
  const bytes = readHex(text ?? '');
  if (bytes !== undefined) return { kind: 'bytes', base64: bytes.toString('base64'), isEntered };
  throw new ShellServerError('PARAM_002', 'input is not hexadecimal, which raw_bytes requires.', {
    hint: 'Use two digits per byte, such as "1b5b41".',
    details: { parameter: 'input' },
  });
}

/** The line end at the end of a text is Enter, to every program; pasted to a shell it would be a part of the line. */
function textTyped(text: string, isEntered: boolean): Typed {
  const line = isEntered ? text : text.replace(/(?:\r\n|\r|\n)$/, '');
  return { kind: 'text', text: line, isEntered: isEntered || line !== text };
}

function enterAtEnd(bytes: Buffer, isEntered: boolean): Typed {
  const ending = isEntered ? 0 : (/(?:\r\n|\r|\n)?$/.exec(bytes.toString('latin1'))?.[0].length ?? 0);
  const base64 = bytes.subarray(0, bytes.length - ending).toString('base64');
  return { kind: 'bytes', base64, isEntered: isEntered || ending > 0 };
}

function shownInput({ input, keys, execute }: Input): string {
  if (keys !== undefined) return keys.join(' ');
  return execute ? `${input ?? ''}\n` : (input ?? '');
}

function whyNothing(result: SendResult, input: Input): string {
  switch (result.why) {
    case 'guard':
      return `Nothing was sent: the foreground process is ${foregroundText(result.front)}, not ${input.send_to}.`;
    case 'held':
      return 'Nothing was sent: the operator has taken over this terminal. Call again later; terminal_get_output shows what happens in it.';
    case 'ended':
      return 'Nothing was sent: the program in the terminal has ended.';
    default:
      return 'Nothing was sent: the program in the foreground kept changing. Call again.';
  }
}
