/**
 * The subcommands for the person who is responsible: what there is and how it is called. What each does is loaded when
 * it is wanted, since every start of a server comes by here.
 */
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { PRESET_NAMES } from '../base/config/presets.ts';
import type { CommandContext } from './context.ts';
import type { NameKind } from './help/complete-names.ts';
import type { CreateOptions } from './token.ts';

const SINCE = 'not earlier: 90s, 30m, 2h or 7d ago, 2026-11-15, or 2026-11-15T10:00 (UTC)';
const UNTIL = 'not later';
const EXECUTION_STATES = ['running', 'lost', 'completed', 'failed', 'timeout'];
const STRICTER = 'a stricter preset than in the settings, for everything the principal does';
/** For how long an approval holds. */
const SPANS = ['once', 'hour', 'session'];
const MAX_COUNT = 1_000_000;
/** How executions end, then how calls do. */
const STATUSES = ['completed', 'failed', 'timeout', 'answered', 'asked', 'cancelled'];

export function addOperatorCommands(program: Command, context: CommandContext): void {
  const run: Run =
    (load) =>
    async (...given) => {
      const action = (await load()) as (context: CommandContext, ...given: unknown[]) => void | Promise<void>;
      await action(context, ...given);
    };
  addNames(program, context);
  addAuditCommands(program, run);
  addExecutionCommands(program, run);
  addQuestionCommands(program, run);
  addTokenCommands(program, context, run);
  addStateCommands(program, run);
}

/** An action that loads what it does: called with the context, and with what was typed. */
type Run = (
  load: () => Promise<(context: CommandContext, ...given: never[]) => void | Promise<void>>,
) => (...given: unknown[]) => Promise<void>;

function addAuditCommands(program: Command, run: Run): void {
  const audit = program.command('audit').description('show or verify the audit log');
  audit
    .command('verify')
    .description('verify the log and name the first modified line; exits with 1 if there is one')
    .option('--anchor <hash>', 'require a line with this hash, noted earlier; can be repeated', collect)
    .option('--json', 'as JSON')
    .action(run(async () => (await import('./audit/audit-verify.ts')).verifyCommand));
  audit
    .command('search')
    .description('find lines; exits with 1 if there are none')
    .argument('[text]', 'text in any field, ignoring case')
    .option('--since <time>', SINCE)
    .option('--until <time>', UNTIL)
    .option('--principal <name>', 'of this caller')
    .option('--client <name>', 'of this client')
    .addOption(oneOf('--decision <decision>', 'with this decision', ['allow', 'deny', 'ask']))
    .addOption(oneOf('--status <status>', 'of an execution, or of a call', STATUSES))
    .option('--event <event>', 'of this kind, such as execution_ended or call')
    .option('--execution <execution>', 'about this execution or terminal')
    .option('--security', 'only denials, commands not found, and missing permissions')
    .option('--limit <count>', 'at most this many, newest first', count, 100)
    .option('--json', 'the lines as they are')
    .action(run(async () => (await import('./audit/audit-search.ts')).searchAudit));
  audit
    .command('tail')
    .description('show the last lines and follow the log until Ctrl-C')
    .option('-n, --lines <count>', 'how many of the last', count, 10)
    .option('--no-follow', 'do not wait for more')
    .option('--json', 'the lines as they are')
    .action(run(async () => (await import('./audit/audit-search.ts')).tailAudit));
  audit
    .command('stats')
    .description('show the most used, most denied and slowest commands, and failures over time')
    .option('--since <time>', SINCE)
    .option('--until <time>', UNTIL)
    .option('--principal <name>', 'of this caller')
    .option('--json', 'as JSON')
    .action(run(async () => (await import('./audit/stats.ts')).statsCommand));
}

function addExecutionCommands(program: Command, run: Run): void {
  program
    .command('top')
    .description('show running executions live; kill one on request')
    .option('--once', 'print once, without a terminal')
    .option('--end <execution>', 'kill this execution with everything it started')
    .option('--json', 'print once, as JSON')
    .action(run(async () => (await import('./top/top.ts')).top));

  program
    .command('executions')
    .description('list executions on the state directory, newest first')
    .argument('[text]', 'with this text in the command, ignoring case')
    .addOption(new Option('--running', 'only those that run').conflicts('ended'))
    .option('--ended', 'only those that ended')
    .addOption(oneOf('--status <status>', 'in this state', EXECUTION_STATES).conflicts(['running', 'ended']))
    .option('--principal <name>', 'of this caller')
    .option('--since <time>', SINCE)
    .option('--limit <count>', 'at most this many, newest first', count, 20)
    .option('--json', 'as JSON')
    .action(run(async () => (await import('./list-executions.ts')).listExecutions));
  program
    .command('output')
    .description('show the output of an execution')
    .argument('<execution>', 'its id, that of its terminal or of an output, or the beginning of one')
    .option('-f, --follow', 'go on until it ends, or until Ctrl-C')
    .option(
      '--search <pattern>',
      'only lines that match this regular expression; ends with 1 where none does',
    )
    .option('-C, --context <lines>', 'with --search: so many lines around each', count)
    .option('--head <lines>', 'only the first so many lines', count)
    .option('--tail <lines>', 'only the last so many lines; with --follow also those that come', count)
    .option('--stdout', 'only what it wrote to stdout')
    .option('--stderr', 'only what it wrote to stderr')
    .option('--raw', 'every byte as it is, also escape sequences')
    .action(run(async () => (await import('./show-output.ts')).showOutput));

  program
    .command('terminals')
    .description('list open terminals')
    .option('--json', 'as JSON')
    .action(run(async () => (await import('./list-terminals.ts')).terminals));
  program
    .command('attach')
    .description('show a terminal live and type into it; Ctrl-] detaches')
    .argument('<terminal>', 'its id, the beginning of it, or the name of its session')
    .action(run(async () => (await import('./attach-terminal.ts')).attach));
}

function addQuestionCommands(program: Command, run: Run): void {
  const questions = program
    .command('questions')
    .description(
      'list commands that wait for approval, passwords that are asked for, and remembered approvals',
    )
    .option('--json', 'as JSON')
    .action(run(async () => (await import('./answer-questions.ts')).listQuestionsCommand));
  questions
    .command('watch')
    .description('show questions as they come; servers ask only while this or the page is open')
    .action(run(async () => (await import('./answer-questions.ts')).watchQuestionsCommand));
  questions
    .command('allow')
    .description('let a command run')
    .argument('<id>', 'the question')
    .addOption(oneOf('--for <time>', 'how long the same command in the same directory is allowed', SPANS))
    .action(run(async () => (await import('./answer-questions.ts')).allowCommand));
  questions
    .command('deny')
    .description('keep a command from running, or give no password')
    .argument('<id>', 'the question')
    .option('--reason <text>', 'why, for the model to read')
    .action(run(async () => (await import('./answer-questions.ts')).denyCommand));
  questions
    .command('answer')
    .description('type the password that a program of a command asks for')
    .argument('<id>', 'the question')
    .action(run(async () => (await import('./answer-questions.ts')).answerCommand));
  questions
    .command('revoke')
    .description('revoke a remembered approval')
    .argument('<id>', 'the approval')
    .action(run(async () => (await import('./answer-questions.ts')).revokeCommand));
}

function addTokenCommands(program: Command, context: CommandContext, run: Run): void {
  const token = program.command('token').description('manage tokens for access over HTTP');
  token
    .command('create')
    .description('create a token and show it once')
    .argument('<name>', 'its name; also the principal whose work it grants access to')
    .option('--principal <name>', 'another principal, for example of an existing token')
    .addOption(oneOf('--preset <name>', STRICTER, PRESET_NAMES))
    .option('--tools <names>', 'only these toolsets or tools, separated by commas')
    .option('--read-only', 'only tools that change nothing')
    .option('--expires <time>', 'expiry: 12h, 30d or 8w, or on 2027-01-31 (UTC)')
    .option('--replace', 'replace the token of that name')
    .option('--json', 'as JSON')
    .action(async (name: string, options: CreateOptions) =>
      (await import('./token.ts')).createTokenCommand(context, name, {
        ...options,
        // The server has a flag of that name, which commander therefore takes for its own wherever it stands.
        ...program.opts<Pick<CreateOptions, 'tools'>>(),
      }),
    );
  token
    .command('list')
    .description('list tokens; the tokens themselves are not stored')
    .option('--json', 'as JSON')
    .action(run(async () => (await import('./token.ts')).listTokensCommand));
  token
    .command('revoke')
    .description('revoke a token, also for running servers')
    .argument('<token>', 'what it is called')
    .action(run(async () => (await import('./token.ts')).revokeTokenCommand));
}

function addStateCommands(program: Command, run: Run): void {
  const state = program.command('state').description('show or prune the state directory');
  state
    .command('show')
    .description('show its contents and their size')
    .option('--json', 'as JSON')
    .action(run(async () => (await import('./state.ts')).showState));
  state
    .command('prune')
    .description('remove ended executions with their outputs, according to [retention]')
    .option('--older-than <span>', 'only those that ended longer ago: 90s, 30m, 2h, 7d or 2w')
    .option('--keep <count>', 'keep this many of the newest', count)
    .option('--dry-run', 'remove nothing; show what would be removed')
    .option('--json', 'as JSON')
    .action(run(async () => (await import('./state.ts')).pruneState));
}

/** Not for people: completion scripts call it. */
function addNames(program: Command, context: CommandContext): void {
  program
    .command('names', { hidden: true })
    .addArgument(new Argument('<kind>').choices(['tokens', 'terminals', 'executions']))
    .action(async (kind: NameKind) => {
      const { listNames } = await import('./help/complete-names.ts');
      const names = await listNames(kind, context.settings().stateDir);
      context.output.write(names.map((name) => `${name}\n`).join(''));
    });
}

export const oneOf = (flags: string, description: string, choices: readonly string[]): Option =>
  new Option(flags, description).choices(choices);

const collect = (value: string, before: readonly string[] = []): string[] => [...before, value];

function count(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value <= MAX_COUNT) return value;
  throw new InvalidArgumentError(`It must be a whole number, 0 to ${MAX_COUNT}.`);
}
