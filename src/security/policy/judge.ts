/** The decision: what was found, held against the rules, in the order in which they beat each other. */
import { type AllowList, isDenial, isNeutral } from './allow-list.ts';
import { findDestructive } from './destructive.ts';
import { findEvaluated, findLeft } from './evaluated.ts';
import { findOutside } from './find-outside.ts';
import type { Assigned, Findings, Invocation } from './findings.ts';
import { baseName } from './follow.ts';
import { findGadgets } from './gadgets.ts';
import { type CompiledEntry, normalText } from './list-entry.ts';
import type { Denial, DenialCode, JudgeContext, Judgement, RuleClass } from './policy-types.ts';
import { resolvePath, safeRealPath } from './resolve-path.ts';
import { escapeText, showPart } from './show-decision.ts';
import { OPEN_DEVICES } from './tables/path-rules.ts';
import { dangerOf } from './tables/variables.ts';
import { findUnjudged } from './unjudged.ts';
import { FRESH, pathsOf } from './working-directory.ts';
import { createWorkspace, type Workspace, writtenBy } from './writes.ts';

export interface Rules {
  readonly allow: AllowList | undefined;
  readonly blocked: readonly CompiledEntry[];
  readonly ask: readonly CompiledEntry[];
  readonly directories: readonly string[] | undefined;
  readonly openPaths: readonly string[];
  /** Under an allow-list: whether commands may write in the workspace. */
  readonly writes: boolean;
  readonly workspace: readonly string[] | undefined;
}

export interface Asked {
  readonly text: string;
  readonly isArgv: boolean;
  readonly context: JudgeContext;
}

export function decide(findings: Findings, rules: Rules, asked: Asked): Judgement {
  const denial = findDenial(findings, rules, asked);
  const shown = describe(findings);
  if (denial !== undefined) {
    const { ruleClass, rule, part, reason, ...rest } = denial;
    return {
      decision: 'deny',
      ruleClass,
      rule: escapeText(`${ruleClass}: ${rule}`),
      reason: escapeText(reason),
      part: showPart(part),
      code: CODES[ruleClass] ?? 'SECURITY_003',
      ...rest,
      ...shown,
    };
  }
  const question = findQuestion(findings, rules);
  if (question !== undefined) {
    return {
      decision: 'ask',
      ruleClass: 'ask',
      rule: escapeText(`ask: ${question.entry.source}`),
      reason: `A person has to approve "${escapeText(question.entry.source)}".`,
      part: showPart(question.invocation.text),
      ...shown,
    };
  }
  const allowed = rules.allow !== undefined;
  return {
    decision: 'allow',
    ruleClass: allowed ? 'allowed' : 'default',
    rule: allowed ? 'allowed' : 'default',
    reason: allowed ? 'Every command in it is allowed.' : 'No rule forbids it.',
    ...shown,
  };
}

const CODES: Readonly<Partial<Record<RuleClass, DenialCode>>> = {
  destructive: 'SECURITY_001',
  directory: 'SECURITY_002',
};

function describe({ invocations, unknowns }: Findings): Pick<Judgement, 'commands' | 'unknowns'> {
  return {
    commands: invocations
      .filter(({ isGuess }) => !isGuess)
      .map(({ args, text, foundIn, unknown }) => ({
        argv: args.map(({ value }) => (value === undefined ? null : escapeText(value))),
        text: showPart(text),
        foundIn,
        ...(unknown === undefined ? {} : { unknown: escapeText(unknown) }),
      })),
    unknowns: unknowns.map(({ reason, part }) => ({ reason: escapeText(reason), part: showPart(part) })),
  };
}

function findDenial(findings: Findings, rules: Rules, asked: Asked): Denial | undefined {
  const { tooComplex } = findings;
  if (tooComplex !== undefined)
    return deny('too-complex', tooComplex, `The command cannot be judged: ${tooComplex}.`, asked.text);
  const destructive = findDestructive(findings, asked.context);
  if (destructive !== undefined) {
    const { rule, part } = destructive;
    return deny('destructive', rule, `This was recognised as destructive: ${rule}.`, part);
  }
  return (
    findBlocked(findings, rules, asked) ??
    findUncertain(findings, rules, asked) ??
    findNotAllowed(findings, rules, asked) ??
    findOutside(findings, rules, asked.context) ??
    findLeftValue(findings, rules, asked.context)
  );
}

function findBlocked(findings: Findings, { blocked }: Rules, { text, context }: Asked): Denial | undefined {
  for (const entry of blocked) {
    const met = findings.invocations.find((invocation) =>
      realNames(invocation, context).some((name) => entry.blocks(invocation, name)),
    );
    if (met === undefined && !entry.meetsText(text)) continue;
    const doubt = met?.isGuess === true ? ', and this command may come to that' : '';
    return deny('blocked', entry.source, `"${entry.source}" is blocked${doubt}.`, met?.text ?? text);
  }
  return undefined;
}

/** Whether what only the shell will know may hide what the rules forbid. */
const hasUnknowns = ({ blocked, ask, directories }: Rules, { isContinued }: JudgeContext): boolean =>
  blocked.length + ask.length > 0 || (directories !== undefined && isContinued === true);

function findLeftValue(findings: Findings, rules: Rules, context: JudgeContext): Denial | undefined {
  const found = hasUnknowns(rules, context) ? findLeft(findings, context) : undefined;
  return found && undecidable(found.reason, found.part);
}

function findUncertain(findings: Findings, rules: Rules, { context }: Asked): Denial | undefined {
  const { directories } = rules;
  const isConfined = directories !== undefined && context.isContinued === true;
  if (!hasUnknowns(rules, context)) return undefined;
  // What later lines lead to would depend on it, and they are judged without it.
  const moving = isConfined ? findings.assignments.find(leadsElsewhere) : undefined;
  if (moving !== undefined)
    return undecidable(`${moving.name} decides where later commands lead`, moving.text);
  // Whatever it matches when it runs, no command has to be named so.
  const pattern = findings.invocations.find(hasPatternName);
  if (pattern !== undefined) return undecidable('the name of the command is a pattern', pattern.text);
  const found = findUnjudged(findings, context);
  return found && undecidable(found.reason, found.part);
}

const leadsElsewhere = ({ name, isTemporary }: Assigned): boolean =>
  isTemporary !== true && /^(?:HOME|CDPATH|IFS|PWD|OLDPWD|DIRSTACK)$/.test(name);

/** Behind `env` and the like it may as well be an option. */
function hasPatternName({ args, unknown }: Invocation): boolean {
  const [name] = args;
  if (name?.value === undefined) return name?.isGlob === true;
  return /^what \S+ would run is not clear/.test(unknown ?? '') && args.some(({ isGlob }) => isGlob);
}

/** What the link `/tmp/x` to `/bin/rm` is. */
function realNames(
  { args, cwds }: Invocation,
  { realPath, directory }: JudgeContext,
): (string | undefined)[] {
  const name = args[0]?.value;
  if (name?.includes('/') !== true) return [undefined];
  return cwds.map((place) => baseName(resolvePath(place ?? directory, name, safeRealPath(realPath))));
}

function findQuestion(
  { invocations }: Findings,
  { ask }: Rules,
): { entry: CompiledEntry; invocation: Invocation } | undefined {
  for (const entry of ask) {
    const invocation = invocations.find((each) => entry.blocks(each));
    if (invocation !== undefined) return { entry, invocation };
  }
  return undefined;
}

function findNotAllowed(findings: Findings, rules: Rules, asked: Asked): Denial | undefined {
  const { allow } = rules;
  if (allow === undefined) return undefined;
  const { context } = asked;
  for (const invocation of findings.invocations) {
    const denial = judgeInvocation(invocation, rules, allow, asked);
    if (denial !== undefined) return denial;
  }
  const [unknown] = findings.unknowns;
  if (unknown !== undefined) return undecidable(unknown.reason, unknown.part);
  for (const name of Object.keys(context.environment ?? {})) {
    if (dangerOf(name) !== undefined) return variable(name, name);
  }
  for (const { name, value, text } of findings.assignments) {
    if (dangerOf(name) !== undefined) return variable(name, text);
    // A later command of the session may evaluate it.
    if (value?.value !== undefined && /\[[^\]]*(?:\$\(|`)/.test(value.value))
      return undecidable('the value is a text that bash could evaluate', text);
  }
  const evaluated = findEvaluated(findings, context);
  if (evaluated !== undefined) return undecidable(evaluated.reason, evaluated.part);
  return findWrite(findings, rules, context);
}

function judgeInvocation(
  invocation: Invocation,
  rules: Rules,
  allow: AllowList,
  asked: Asked,
): Denial | undefined {
  if (invocation.isGuess || (invocation.isFunction && !allow.isEmpty)) return undefined;
  if (invocation.args[0]?.value === undefined)
    return undecidable(
      invocation.unknown ?? 'the name of the command is only known when it runs',
      invocation.text,
    );
  const { directory } = asked.context;
  const asking = rules.ask.find((entry) => entry.allows(invocation, directory));
  if (asking !== undefined) return undefined;
  const answer = allow.find(invocation, directory);
  if (isDenial(answer)) {
    if (!asked.isArgv && !allow.isEmpty && isNeutral(invocation)) return undefined;
    const isPartly = allow.samples.some((sample) => sample.startsWith(`${answer.command} `));
    const what = isPartly
      ? `"${normalText(invocation.args)}"`
      : answer.argument === undefined
        ? `"${answer.command}"`
        : `"${answer.command}" with the argument "${answer.argument}"`;
    const rule = normalText(invocation.args).slice(0, 80);
    return {
      ...deny('not-allowed', rule, `${what} is not in the allow-list.`, invocation.text),
      hint: allow.isEmpty
        ? 'Nothing is allowed here.'
        : `Allowed are, among others: ${escapeText(allow.samples.slice(0, 12).join(', '))}.`,
      refused: answer,
    };
  }
  const workspace = rules.writes ? workspaceOf(rules, asked.context) : undefined;
  const gadget = findGadgets(invocation.args).find(
    ({ trigger, does, isUnknown }) =>
      isUnknown ||
      !(
        answer.speaksOf(trigger) ||
        (does === 'writes a file' && workspace !== undefined && isTame(invocation, workspace))
      ),
  );
  if (gadget === undefined)
    return findWritten(invocation, writtenBy(invocation, answer.speaksOf), workspace, rules);
  const { program, trigger, does, hint } = gadget;
  if (gadget.isUnknown)
    return { ...undecidable(`${trigger} ${does}`, invocation.text), ...(hint !== undefined && { hint }) };
  const reason = `"${program}" is allowed, but with ${trigger} it ${does}.`;
  return {
    ...deny('gadget', `${program} ${trigger}`, reason, invocation.text),
    hint: hint ?? `Do it without ${escapeText(trigger)}; the operator can allow it in so many words.`,
  };
}

function undecidable(reason: string, part: string): Denial {
  return deny('undecidable', reason, `It cannot be decided beforehand what this runs: ${reason}.`, part);
}

function variable(name: string, part: string): Denial {
  return deny('variable', name, `The variable ${name} ${dangerOf(name) ?? ''}.`, part);
}

/** What may be written to: the workspace, and what is open to every command. */
function workspaceOf({ workspace, openPaths }: Rules, context: JudgeContext): Workspace {
  return createWorkspace(
    [...(workspace ?? [context.directory]), ...openPaths],
    safeRealPath(context.realPath),
    context.home,
  );
}

/** Whether an argument that writes can only write in the workspace: all that the command names lies there. */
function isTame(invocation: Invocation, workspace: Workspace): boolean {
  const here = { path: '.', readings: ['.'], text: '.', cwds: invocation.cwds };
  return [here, ...pathsOf(invocation, FRESH)].every((use) => workspace(use) === undefined);
}

const WRITE_PROBLEMS = {
  outside: 'lies outside the workspace',
  protected: 'is a file that others run or obey',
  undecidable: 'is only known when it runs',
} as const;

/** A program whose work is to write. `workspace` is undefined where nothing may. */
function findWritten(
  invocation: Invocation,
  written: ReturnType<typeof writtenBy>,
  workspace: Workspace | undefined,
  { directories }: Rules,
): Denial | undefined {
  if (written === undefined) return undefined;
  const program = invocation.args[0]?.value ?? '';
  const { text } = invocation;
  if (workspace === undefined) {
    const reason = `"${program}" writes, and nothing may be written here.`;
    return { ...deny('write', program, reason, text), hint: NO_WRITES };
  }
  for (const use of written) {
    const problem = workspace(use);
    if (problem === undefined || (problem === 'outside' && directories !== undefined)) continue;
    const target = use.path ?? use.text;
    const reason = `What "${program}" would write to, ${target}, ${WRITE_PROBLEMS[problem]}.`;
    return deny('write', `${program} ${target}`, reason, text);
  }
  return undefined;
}

const NO_WRITES =
  'Read the output from the answer instead of a file. The operator allows writing in the workspace with security.allow_writes.';

/** Under an allow-list the shell itself writes where commands may. */
function findWrite({ redirections }: Findings, rules: Rules, context: JudgeContext): Denial | undefined {
  const workspace = workspaceOf(rules, context);
  for (const { kind, target, text, cwds } of redirections) {
    const path = target.value;
    const isNetwork = target.guesses.some((guess) => /^\/dev\/(?:tcp|udp)\//.test(guess));
    if (isNetwork)
      return redirect('the network', text, 'opens a connection, which an allow-list does not cover');
    if (kind !== 'write' || (path !== undefined && OPEN_DEVICES.test(path))) continue;
    if (!rules.writes)
      return redirect(path ?? target.text, text, 'writes a file, and nothing may be written here');
    if (path === undefined) return undecidable('where the output goes is only known when it runs', text);
    const problem = workspace({ path, readings: [path], text, cwds });
    // Where directories are named, what lies outside of them is refused as such.
    if (problem === undefined || (problem === 'outside' && rules.directories !== undefined)) continue;
    return redirect(path, text, `writes to what ${WRITE_PROBLEMS[problem]}`);
  }
  return undefined;
}

function redirect(target: string, part: string, what: string): Denial {
  return deny('redirect', target, `The redirection ${what}.`, part);
}

/** What to do instead, where a denial does not know better. */
const HINTS: Readonly<Partial<Record<RuleClass, string>>> = {
  'too-complex': "Split it up, or write long text to a file with a quoted here-document (<<'EOF').",
  destructive:
    'Do it in a narrower way, such as on a directory of the project, or ask the person you work for to do it.',
  blocked: 'Do it without this command, or ask the operator to change blocked_commands.',
  undecidable:
    'Write commands and arguments out, without variables or substitutions where they decide what runs.',
  variable: 'Leave the variable as it is.',
  write: 'Write to another file, in the workspace.',
  redirect: NO_WRITES,
};

function deny(ruleClass: RuleClass, rule: string, reason: string, part: string): Denial {
  return { ruleClass, rule, reason, part, hint: HINTS[ruleClass] ?? '' };
}
