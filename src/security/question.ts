/**
 * What a person is asked: all that decides what would run, and no more than fits before their eyes. Nobody can agree to
 * what they do not see, so that what is too long to be shown is not asked about at all.
 */
import type { LaunchRequest } from './launch-request.ts';
import type { Judgement } from './policy/policy-types.ts';
import { escapeText, showPart } from './policy/show-decision.ts';
import { dangerOf } from './policy/tables/variables.ts';
import { isMaskedName, MASK, maskText } from './secrets.ts';

export interface Asked
  extends Pick<LaunchRequest, 'command' | 'inputData' | 'callerEnvironment' | 'sessionEnvironment'> {
  readonly directory: string;
  /** What a command has without either of them. */
  readonly inherited: Readonly<Record<string, string>>;
}

/** Of a command: what fits on a screen or two. */
export const SHOWN_LENGTH = 4000;
export const SHOWN_LINES = 60;
/** Of all variables together. */
const VARIABLES_LENGTH = 3000;
const MAX_VARIABLES = 40;
/** Of a variable that decides nothing by itself; one that decides what runs is shown whole. */
const VALUE_LENGTH = 120;
/** Of its input, which is data like that of a file, and may have megabytes. */
const INPUT_LENGTH = 500;
const INPUT_LINES = 15;

/** The question, or what of it cannot be shown. The rule comes first, where nothing can push it out of view. */
export function questionFor(
  asked: Asked,
  { part, rule, commands }: Judgement,
): { readonly question: string } | { readonly tooLong: string } {
  const { command, directory, inputData } = asked;
  if (command.length > SHOWN_LENGTH) return { tooLong: `with ${command.length} characters it` };
  const lines = command.split('\n').length;
  if (lines > SHOWN_LINES) return { tooLong: `with ${lines} lines it` };
  const variables = describeVariables(asked);
  if (variables === undefined) return { tooLong: 'with the variables of the call and its session it' };
  const question = [
    `"${part ?? commands[0]?.text ?? ''}" needs your agreement (${rule}).`,
    `An agent wants to run this in ${showPart(directory)}:`,
    showLines(command),
    ...variables,
    ...(inputData === undefined ? [] : [describeInput(inputData)]),
  ].join('\n\n');
  return { question };
}

/** Those that are not as the server has them; undefined where they are too many to be seen. */
function describeVariables(asked: Asked): string[] | undefined {
  const { callerEnvironment, sessionEnvironment, inherited } = asked;
  const called = Object.entries(callerEnvironment).filter(([name, value]) => inherited[name] !== value);
  const carried = [...sessionEnvironment].filter(
    ([name, value]) => callerEnvironment[name] === undefined && inherited[name] !== value,
  );
  const shown = [
    ...describeSome('With variables of the call:', called),
    ...describeSome('With variables of its session:', carried),
  ];
  const isMuch = called.length + carried.length > MAX_VARIABLES || shown.join('').length > VARIABLES_LENGTH;
  return isMuch ? undefined : shown;
}

function describeSome(
  title: string,
  variables: readonly (readonly [string, string | undefined])[],
): string[] {
  if (variables.length === 0) return [];
  const lines = variables.map(([name, value]) => `    ${escapeText(name)}${describeValue(name, value)}`);
  return [`${title}\n\n${lines.sort().join('\n')}`];
}

function describeValue(name: string, value: string | undefined): string {
  if (value === undefined) return ' is not set';
  if (isMaskedName(name)) return `=${MASK}`;
  const text = escapeText(maskText(value));
  if (dangerOf(name) !== undefined || text.length <= VALUE_LENGTH) return `=${squeeze(text)}`;
  return `=${squeeze(text.slice(0, VALUE_LENGTH))}… (${value.length} characters)`;
}

/** Indented, so that no line of it can pass for one of ours, and without characters that a terminal would obey. */
function showLines(text: string): string {
  return text
    .split('\n')
    .map((line) => `    ${squeeze(escapeText(line))}`)
    .join('\n');
}

/** A long blank would push what follows it out of a line, or of a window. */
function squeeze(line: string): string {
  return line.replace(/(?<=\S)\s{9,}(?=\S)/g, (blank) => ` [${blank.length} blanks] `);
}

function describeInput(data: string): string {
  const lines = data.slice(0, INPUT_LENGTH).split('\n');
  const isCut = data.length > INPUT_LENGTH || lines.length > INPUT_LINES;
  const shown = showLines(lines.slice(0, INPUT_LINES).join('\n'));
  return `With this input of ${data.length} characters${isCut ? ', which begins' : ''}:\n\n${shown}`;
}
