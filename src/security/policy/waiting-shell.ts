/**
 * What a bash that is already there evaluates, so that nothing tells the command that it was not given to `bash -c`.
 * Only texts of a small grammar: simple commands in a row, with quotes, plain variables and redirections. Undefined for
 * everything else: the command then gets a shell of its own.
 */

/** With what stands around a text it then fits into a page, which a pipe always takes at once. */
const MAX_BYTES = 1600;
/** Asks for the shell's own text, its time or its processes. Not as a word: in quotes it may be a program's text. */
const NOTICES = /\/(?:proc|fd)\b|\b(?:lsof|fuser|ps|pgrep|pkill|pstree|killall|h?top)\b|%-?\d*\(/;

/** Of these bash knows more when it has waited, or they are its own. */
const OWN_VARIABLES = 'BASH|SECONDS|PIPESTATUS|LINENO|FUNCNAME|EPOCH|COMP_';
const VARIABLE = String.raw`\$(?:(?!${OWN_VARIABLES})[A-Za-z]\w*|\{(?!${OWN_VARIABLES})[A-Za-z]\w*\})`;
const QUOTED = String.raw`'[^'\0-\x1f\x7f]*'|"(?:[^"\\$\x60\0-\x1f\x7f]|\\[^\0-\x1f\x7f]|${VARIABLE})*"`;
const WORD = String.raw`(?:[\w.,:+/@%^=~*?[\]-]|${QUOTED}|${VARIABLE})+`;
const REDIRECTION = String.raw`(?:[012]?(?:>>?|<)|&>>?) *${WORD}|[12]?>&[12]`;
/** Neither an assignment nor a word of the grammar. */
const NAME = String.raw`(?!(?:time|if|for|while|until|case|select|then|else|elif|fi|do|done|esac|in|function|coproc)(?![\w.+/-]))(?:[\w/][\w.+/-]*|\[|\.{1,2}/[\w.+/-]+)`;
const SIMPLE = String.raw`${NAME}(?: +(?:${REDIRECTION}|${WORD}))*`;
const LIST = new RegExp(String.raw`^ *${SIMPLE}(?: *(?:\|\|?|&&|;) *${SIMPLE})* *$`);
const SIMPLE_COMMAND = new RegExp(SIMPLE, 'y');
const NEXT = / *(?:(?<pipe>\|(?!\|))|\|\||&&|;)? */y;

/** Those that do the same when they are evaluated. Of the others some do not, and texts with them are rare. */
const BUILTINS = new Set('[ cd echo exit false printf pwd test true umask'.split(' '));
const OTHER_BUILTINS = new Set(
  (
    '. alias bg bind break builtin caller command compgen complete compopt continue declare dirs disown enable eval exec ' +
    'export fc fg getopts hash help history jobs kill let local logout mapfile popd pushd read readarray readonly return ' +
    'set shift shopt source suspend times trap type typeset ulimit unalias unset wait'
  ).split(' '),
);

const EXPORT = new RegExp(String.raw`^export(?: +(?!PATH=|${OWN_VARIABLES})[A-Za-z]\w*=(?:${WORD})?)+$`);
const QUOTES = new RegExp(QUOTED, 'g');

interface Simple {
  readonly name: string;
  readonly text: string;
  readonly at: number;
  /** In front of a pipe or behind one: bash waits for all of it. */
  readonly isPiped: boolean;
}

/** `before` is a text of ours that sets a trap. */
export function textForWaitingShell(command: string, before = ''): string | undefined {
  if (Buffer.byteLength(command) > MAX_BYTES || NOTICES.test(command) || !LIST.test(command))
    return undefined;
  const commands = simpleCommands(command);
  if (commands.some(({ name, text }) => OTHER_BUILTINS.has(name) && !EXPORT.test(text))) return undefined;
  // With a trap bash waits for every program. The trap is to see the statuses of the command, not those of `eval`.
  if (before !== '') return `${before}${command}\nexit`;
  const last = commands.at(-1);
  return last === undefined || isWaitedFor(last) ? command : inPlace(command, last);
}

function simpleCommands(text: string): readonly Simple[] {
  const found: Simple[] = [];
  let isPiped = false;
  for (let at = text.search(/[^ ]/); at < text.length; at = NEXT.lastIndex) {
    SIMPLE_COMMAND.lastIndex = at;
    const [simple = ''] = SIMPLE_COMMAND.exec(text) ?? [];
    NEXT.lastIndex = at + simple.length;
    const isBeforePipe = NEXT.exec(text)?.groups?.['pipe'] !== undefined;
    found.push({ name: simple.split(' ', 1)[0] ?? '', text: simple, at, isPiped: isPiped || isBeforePipe });
    isPiped = isBeforePipe;
  }
  return found;
}

/** Also by `bash -c`, if it comes last. */
const isWaitedFor = ({ name, text, isPiped }: Simple): boolean =>
  isPiped || BUILTINS.has(name) || OTHER_BUILTINS.has(name) || /[<>]/.test(text.replace(QUOTES, ''));

/**
 * As `bash -c` does with the last program, which so gets every signal itself. What is not there bash reports. Under a
 * relative path the program would get another name.
 */
function inPlace(command: string, { name, at }: Simple): string | undefined {
  const isPath = name.includes('/');
  if (isPath && !name.startsWith('/')) return undefined;
  const program = command.slice(at);
  const [found, path] = isPath
    ? [`[ -f ${name} -a -x ${name} ]`, name]
    : [`hash -- ${name} 2>/dev/null`, `\${BASH_CMDS[${name}]}`];
  return `${command.slice(0, at)}{ ${found} && _=${path} exec ${program}; ${program}; }`;
}
