/**
 * What a bash that is already there evaluates, so that nothing tells the command that it was not given to `bash -c`.
 * Undefined where something would, or where that is not certain: the command then gets a shell of its own.
 */
import type { Command, ParsedScript } from 'unbash';
import { parseBounded, syntaxProblem } from './parse.ts';

/** bash reads it byte by byte. */
const MAX_CHARS = 2048;
/** It asks how its shell was started, traces it, or prepares that a name means something else. */
const NOTICES = new RegExp(
  [
    String.raw`[\0-\x08\x0b-\x1f\x7f]|\\\s*$`,
    String.raw`\bBASH|\bPIPESTATUS|xtrace|\bset\b[^\n;&|]*x|\$\{?_(?![A-Za-z0-9_])`,
    String.raw`/(?:proc|fd)\b|\b(?:lsof|fuser|ps|pgrep|pkill|pstree|killall|h?top)\b`,
    String.raw`\b(?:trap|function|alias|enable|hash|source|eval|command|coproc)\b|\(\s*\)|(?:^|[\s;&|({])\.\s`,
  ].join('|'),
);
/** One command without anything that means something to a shell. */
const PLAIN = /^(?<name>[\w.+/-]+)(?: [\w.,:+/@%^-]+)*$/;
const NAME = /^[\w.+/-]+$/;

const BUILTINS = new Set(
  (
    ': [ bg bind break builtin caller cd compgen complete compopt continue declare dirs disown echo exec exit export false ' +
    'fc fg getopts help history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return ' +
    'set shift shopt suspend test times true type typeset ulimit umask unalias unset wait'
  ).split(' '),
);
/** Would be one more word of the grammar. */
const KEYWORDS = /^(?:time|if|for|while|until|case|select|then|else|elif|fi|do|done|esac|in)$/;

/** `before` is a text of ours that sets a trap. */
export function textForWaitingShell(command: string, before = ''): string | undefined {
  if (command.length > MAX_CHARS || NOTICES.test(command)) return undefined;
  const name = PLAIN.exec(command)?.groups?.['name'];
  if (name !== undefined && !KEYWORDS.test(name)) {
    if (before !== '') return withTrap(before, command);
    return BUILTINS.has(name) ? command : inPlace(name, command);
  }
  const parsed = parseBounded(command);
  if (parsed.kind !== 'parsed' || syntaxProblem(parsed.script) !== undefined) return undefined;
  if (before !== '') return withTrap(before, command);
  const last = lastCommand(parsed.script);
  return last === undefined ? command : withLast(command, last);
}

/** With a trap bash waits for every program. The trap is to see the statuses of the command, not those of `eval`. */
const withTrap = (before: string, command: string): string => `${before}${command}\nexit`;

/** The simple command at the end; bash waits for anything else. */
function lastCommand({ commands }: ParsedScript): Command | undefined {
  const last = commands.at(-1);
  if (last === undefined || last.background === true) return undefined;
  const node = last.command.type === 'AndOr' ? last.command.commands.at(-1) : last.command;
  return node?.type === 'Command' && node.redirects.length === 0 ? node : undefined;
}

function withLast(command: string, { name, prefix, pos, end }: Command): string | undefined {
  // Assignments alone.
  if (name === undefined || BUILTINS.has(name.text)) return command;
  if (!NAME.test(name.text) || prefix.some((part) => 'name' in part && part.name === 'PATH'))
    return undefined;
  const text = command.slice(pos, end);
  const executed = `${command.slice(pos, name.pos)}exec ${command.slice(name.pos, end)}`;
  return command.slice(0, pos) + inPlace(name.text, text, executed) + command.slice(end);
}

/** As `bash -c` does with the last program, which so gets every signal itself. What is not there bash reports. */
const inPlace = (name: string, text: string, executed = `exec ${text}`): string =>
  `{ type -P -- ${name} >/dev/null && ${executed}; ${text}; }`;
