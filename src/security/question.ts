/**
 * What a person is asked: all that decides what would run, and no more than fits before their eyes. Nobody can agree to
 * what they do not see, so that what is too long to be shown is not asked about at all.
 */
import type { LaunchRequest } from './launch-request.ts';
import type { Judgement } from './policy/policy-types.ts';
import { escapeText, showPart } from './policy/show-decision.ts';
import { isMaskedName, MASK, maskText } from './secrets.ts';

export interface Asked
  extends Pick<LaunchRequest, 'command' | 'inputData' | 'callerEnvironment' | 'sessionEnvironment'> {
  readonly directory: string;
  /** What a command has without either of them. */
  readonly inherited: Readonly<Record<string, string>>;
}

/** Of a command, and of its input: what fits on a screen or two. */
export const SHOWN_LENGTH = 4000;
export const SHOWN_LINES = 60;
/** Of all variables together. */
const VARIABLES_LENGTH = 3000;
const MAX_VARIABLES = 40;

/** The question, or what of it cannot be shown. The rule comes first, where nothing can push it out of view. */
export function questionFor(
  asked: Asked,
  { part, rule, commands, unknowns }: Judgement,
): { readonly question: string } | { readonly tooLong: string } {
  const { command, directory, inputData } = asked;
  for (const [text, what] of [
    [command, 'it'],
    [inputData ?? '', 'its input'],
  ] as const) {
    const lines = text.split('\n').length;
    if (text.length > SHOWN_LENGTH) return { tooLong: `with ${text.length} characters ${what}` };
    if (lines > SHOWN_LINES) return { tooLong: `with ${lines} lines ${what}` };
  }
  // Where a value may be a command, it is shown even if it looks like a secret.
  const variables = describeVariables(asked, unknowns.length > 0 ? (_, value) => value : maskValue);
  if (variables === undefined) return { tooLong: 'with the variables of the call and its session it' };
  const question = [
    `"${part ?? commands[0]?.text ?? ''}" needs your agreement (${rule}).`,
    `An agent wants to run this in ${showPart(directory)}:`,
    showLines(command),
    ...variables,
    ...(inputData === undefined
      ? []
      : [`With this input of ${inputData.length} characters:`, showLines(inputData)]),
  ].join('\n\n');
  return { question };
}

/** Those that are not as the server has them; undefined where they are too many to be seen. */
function describeVariables(asked: Asked, mask: typeof maskValue): string[] | undefined {
  const { callerEnvironment, sessionEnvironment, inherited } = asked;
  const called = Object.entries(callerEnvironment).filter(([name, value]) => inherited[name] !== value);
  const carried = [...sessionEnvironment].filter(
    ([name, value]) => callerEnvironment[name] === undefined && inherited[name] !== value,
  );
  const shown = [
    ...describeSome('With variables of the call:', called, mask),
    ...describeSome('With variables of its session:', carried, mask),
  ];
  const isMuch = called.length + carried.length > MAX_VARIABLES || shown.join('').length > VARIABLES_LENGTH;
  return isMuch ? undefined : shown;
}

function describeSome(
  title: string,
  variables: readonly (readonly [string, string | undefined])[],
  mask: typeof maskValue,
): string[] {
  if (variables.length === 0) return [];
  const valueOf = (name: string, value: string | undefined): string =>
    value === undefined ? ' is not set' : `=${squeeze(mask(name, value))}`;
  const lines = variables.map(([name, value]) => `    ${escapeText(name)}${valueOf(name, value)}`);
  return [`${title}\n\n${lines.sort().join('\n')}`];
}

/** A secret is one word; a text that a shell could take for more is shown as it is. */
function maskValue(name: string, value: string): string {
  if (/[^\w.~+/=:@%,?-]/.test(value)) return value;
  return isMaskedName(name) ? MASK : maskText(value);
}

/** Indented, so that no line of it can pass for one of ours, and without characters that a terminal would obey. */
function showLines(text: string): string {
  return text
    .replace(EMPTY_LINES, (lines) => `\n[${lines.split('\n').length - 2} empty lines]\n`)
    .split('\n')
    .map((line) => `    ${squeeze(line)}`)
    .join('\n');
}

/** As it is shown in a line of its own. A long blank would push what follows it out of that, or of a window. */
function squeeze(line: string): string {
  const shown = line.replace(LONG_BLANK, (blank, at: number) => {
    const count = Array.from(blank).length;
    const isIndent = at === 0 && blank.length < line.length && /^ {1,40}$/.test(blank);
    return isIndent ? blank : `${at === 0 ? '' : ' '}[${count} blanks] `;
  });
  return escapeText(shown);
}

/** What shows nothing, by itself or in some fonts: blanks, fillers, marks of no width. */
const BLANK = String.raw`[\s\p{Cc}\p{Default_Ignorable_Code_Point}\u{2800}]`;
const LONG_BLANK = new RegExp(`${BLANK}{9,}`, 'gu');
const EMPTY_LINES = new RegExp(String.raw`\n(?:${BLANK}*\n){3,}`, 'gu');
