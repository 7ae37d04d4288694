/**
 * The policy: from a configuration to decisions about commands. Pure; what the disk says about links is handed in. It is
 * a best-effort filter; the sandbox is the security boundary. Allowed programs can do whatever the sandbox permits.
 */
import { ShellServerError } from '../../base/errors.ts';
import { createAllowList, isDenial, isNeutral } from './allow-list.ts';
import type { Findings } from './findings.ts';
import { decide, type Rules } from './judge.ts';
import { type CompiledEntry, compileEntry } from './list-entry.ts';
import type { Entry, JudgeContext, Judgement, Policy, PolicyConfig } from './policy-types.ts';
import { escapeText } from './show-decision.ts';
import { INTERPRETERS, READING_COMMANDS } from './tables/reading.ts';
import { findArgvCommands, findCommands } from './walk.ts';

export type * from './policy-types.ts';
export { MINIMAL_ARGUMENTS, READING_COMMANDS } from './tables/reading.ts';

const STRICTNESS = { allow: 0, ask: 1, deny: 2 } as const;

/** One policy that decides as the strictest of these does: what an operator set, and what a caller added to it. */
export function combinePolicies(first: Policy, second: Policy): Policy {
  const stricter = (one: Judgement, other: Judgement): Judgement =>
    STRICTNESS[other.decision] > STRICTNESS[one.decision] ? other : one;
  return {
    hasAllowList: first.hasAllowList || second.hasAllowList,
    hasLists: first.hasLists || second.hasLists,
    writes: first.writes && second.writes,
    warnings: [...first.warnings, ...second.warnings],
    identity: JSON.stringify([first.identity, second.identity]),
    judge: (command, context) => stricter(first.judge(command, context), second.judge(command, context)),
    judgeArgv: (argv, context) => stricter(first.judgeArgv(argv, context), second.judgeArgv(argv, context)),
    allowedTable: () => (second.hasAllowList ? second.allowedTable() : first.allowedTable()),
  };
}

/** Throws PARAM_002 where an entry cannot be read or does not meet its own examples. */
export function createPolicy(config: PolicyConfig): Policy {
  const warnings: string[] = [];
  const compile = (parameter: string, entries: readonly Entry[] | undefined): CompiledEntry[] =>
    (entries ?? []).map((entry) => compileChecked(parameter, entry, warnings));
  const blocked = compile('blocked_commands', config.blockedCommands);
  const ask = compile('ask_commands', config.askCommands);
  const allowed = effectiveAllowed(config);
  if (
    config.mode === 'permissive' &&
    (config.allowedCommands !== undefined || config.allowedArguments !== undefined)
  ) {
    warnings.push('allowed_commands and allowed_arguments have no effect in the mode "permissive".');
  }
  if (config.allowWrites !== undefined && allowed === undefined)
    warnings.push('allow_writes has no effect without an allow-list.');
  const entries = compile('allowed_commands', allowed?.entries);
  // The built-in list is read again for each policy otherwise, and nobody needs to be warned of it.
  if (allowed !== undefined && !allowed.isBuiltIn)
    warnings.push(...interpreterWarnings(entries, allowed.table));
  const rules: Rules = {
    allow: allowed === undefined ? undefined : createAllowList(entries, allowed.table),
    blocked,
    ask,
    directories: config.allowedDirectories,
    openPaths: config.openPaths ?? [],
    writes: writesOf(config, allowed),
    workspace: config.workspace ?? config.allowedDirectories,
  };

  return {
    hasAllowList: rules.allow !== undefined,
    writes: rules.writes,
    hasLists: rules.allow !== undefined || blocked.length > 0 || ask.length > 0,
    warnings,
    identity: JSON.stringify([
      config.mode,
      allowed?.entries ?? null,
      allowed?.table ?? null,
      config.blockedCommands ?? [],
      config.askCommands ?? [],
      config.allowedDirectories ?? null,
      config.openPaths ?? [],
      rules.writes,
      rules.workspace ?? null,
    ]),
    judge(command, context) {
      const findings = findCommands(command, context);
      if (rules.allow === undefined) addLines(findings, command, context);
      return decide(findings, rules, { text: command, isArgv: false, context });
    },
    judgeArgv: (argv, context) =>
      decide(findArgvCommands(argv, context), rules, { text: argv.join(' '), isArgv: true, context }),
    allowedTable: () => (allowed === undefined ? { '*': [] } : tableOf(entries, allowed.table)),
  };
}

/** Whether what is allowed may also write: a list of the operator's own says what is wanted, the built-in one reads. */
export function writesOf({ allowWrites }: PolicyConfig, allowed: Allowed | undefined): boolean {
  return allowWrites ?? allowed?.isBuiltIn !== true;
}

/** Which commands are allowed in the end; undefined where all are. */
export interface Allowed {
  readonly entries: readonly Entry[];
  readonly table: Readonly<Record<string, readonly string[]>>;
  readonly isBuiltIn: boolean;
}

export function effectiveAllowed({
  mode,
  allowedCommands,
  allowedArguments,
}: PolicyConfig): Allowed | undefined {
  if (mode === 'permissive') return undefined;
  const table = allowedArguments ?? {};
  if (allowedCommands !== undefined) return { entries: allowedCommands, table, isBuiltIn: false };
  if (allowedArguments !== undefined) return { entries: [], table, isBuiltIn: false };
  return mode === 'restrictive' ? { entries: READING_COMMANDS, table, isBuiltIn: true } : undefined;
}

/**
 * Without an allow-list a text that bash would not read still goes to the shell, which may not be bash, or runs the
 * lines before the mistake; so its lines are looked at one by one as well.
 */
function addLines(findings: Findings, command: string, context: JudgeContext): void {
  if (!findings.unknowns.some(({ reason }) => reason.startsWith('bash would not read it'))) return;
  const lines = command.split(/[\n;]+/).slice(0, 200);
  for (const line of lines) {
    const found = findCommands(line, context);
    findings.invocations.push(...found.invocations.map((invocation) => ({ ...invocation, isGuess: true })));
    findings.redirections.push(
      ...found.redirections.map((redirection) => ({ ...redirection, isGuess: true })),
    );
  }
}

function compileChecked(parameter: string, entry: Entry, warnings: string[]): CompiledEntry {
  const { entry: source, match = [], notMatch = [] } = typeof entry === 'string' ? { entry } : entry;
  const compiled = compileEntry(source, parameter);
  const shown = escapeText(source);
  if ('problem' in compiled) throw invalid(parameter, `has an entry that ${compiled.problem}: "${shown}"`);
  const isText = compiled.name === undefined && compiled.meetsText(source);
  if (isText && parameter === 'allowed_commands')
    throw invalid(parameter, `has an entry that is not a command: "${shown}"`);
  if (isText) warnings.push(`${parameter}: "${shown}" is not a plain command and only matches literally.`);
  const meets = parameter === 'allowed_commands' ? allowsExample(compiled) : blocksExample(compiled);
  const refuse = (problem: string): never => {
    throw invalid(parameter, `has the entry "${shown}", which ${problem}`);
  };
  const missed = match.find((example) => !meets(example));
  if (missed !== undefined) refuse(`does not match its example "${escapeText(missed)}"`);
  const met = notMatch.find(meets);
  if (met !== undefined) refuse(`matches "${escapeText(met)}" although it should not`);
  return compiled;
}

const EXAMPLE_CONTEXT: JudgeContext = { directory: '/', home: '/root' };

function blocksExample(entry: CompiledEntry): (example: string) => boolean {
  return (example) =>
    entry.meetsText(example) ||
    findCommands(example, EXAMPLE_CONTEXT).invocations.some((invocation) => entry.blocks(invocation));
}

function allowsExample(entry: CompiledEntry): (example: string) => boolean {
  const list = createAllowList([entry], {});
  return (example) => {
    const commands = findCommands(example, EXAMPLE_CONTEXT).invocations.filter(
      (invocation) => !isNeutral(invocation),
    );
    return (
      commands.length > 0 &&
      commands.every((invocation) => !isDenial(list.find(invocation, EXAMPLE_CONTEXT.directory)))
    );
  };
}

function interpreterWarnings(entries: readonly CompiledEntry[], table: Allowed['table']): string[] {
  const harmless = /^(?:-v|-V|--version|version|--help|help)$/;
  const risky = [...entries, ...rowsOf(table)].filter(({ name = '', words }) => {
    const kind = INTERPRETERS[name.slice(name.lastIndexOf('/') + 1)];
    return kind !== undefined && (kind === 'always' ? !harmless.test(words[0] ?? '') : words.length === 0);
  });
  return risky.map(
    ({ source }) => `allowed_commands: "${escapeText(source)}" can run any code; only the sandbox holds it.`,
  );
}

/** A table of first arguments as entries. */
export function rowsOf(table: Allowed['table']): readonly Pick<CompiledEntry, 'name' | 'words' | 'source'>[] {
  return Object.entries(table).flatMap(([name, first]) =>
    first.length === 0
      ? [{ name, words: [], source: name }]
      : first.map((word) => ({ name, words: [word], source: `${name} ${word}` })),
  );
}

/** As `shell/allowed` shows it; entries that it has no form for are shown as they are. */
function tableOf(entries: readonly CompiledEntry[], table: Allowed['table']): Record<string, string[]> {
  const shown = new Map(Object.entries(table).map(([name, first]) => [name, [...first]]));
  const free = new Set([...shown].flatMap(([name, first]) => (first.length === 0 ? name : [])));
  for (const { name, words, source } of entries) {
    const isPlain = name !== undefined && !source.trim().startsWith('/');
    const key = isPlain ? name : source;
    const first = isPlain ? words[0] : undefined;
    if (first === undefined) free.add(key);
    shown.set(
      key,
      first === undefined || free.has(key) ? [] : [...new Set([...(shown.get(key) ?? []), first])],
    );
  }
  return Object.fromEntries(shown);
}

export function invalid(parameter: string, problem: string): ShellServerError {
  return new ShellServerError('PARAM_002', `${parameter} ${problem}.`, {
    hint: 'An entry is a command ("ls"), a command with its first arguments ("git status"), a pipeline ("curl | sh") or a /regex/.',
    details: { parameter },
  });
}
