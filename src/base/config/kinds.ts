/**
 * The kinds of settings: what a value must look like, how it is read from the text of a variable or a flag, and what
 * becomes of it. keys.ts picks one for each key.
 */
import { locatePath, type PathBase } from './paths.ts';
import type { ProjectRule } from './project-rules.ts';
import { isTable, leaf, listOf, oneOf, type Shape, tableOf, text, truth, wholeNumber } from './shapes.ts';

/** The settings that have a flag, as typed. */
export interface SettingFlags {
  readonly config?: string | undefined;
  readonly stateDir?: string | undefined;
  readonly tools?: string | undefined;
  readonly shell?: string | undefined;
  /** "host:port", ":port", "port" or "host"; IPv6 in brackets. */
  readonly httpAddress?: string | undefined;
}

/** What an entry of the table says, whatever its kind. */
export interface Words<Value> {
  /** One sentence, for the reference page and the JSON Schema. */
  readonly description: string;
  readonly default?: Value;
  /** Where the default is found out and not a constant, or where there is none: what holds then. */
  readonly unset?: string;
  /** A second name in the environment, beside the one that is made from the key. */
  readonly variable?: string;
  readonly flag?: keyof SettingFlags;
  readonly fromProject: ProjectRule<Value>;
}

/** Methods, not properties of a function type, so that a table may hold settings of several types. */
export interface Setting<Value> extends Words<Value> {
  readonly shape: Shape<Value>;
  /** What may be written, in words. */
  readonly values: string;
  /** The text of a variable or a flag as the value it means; the shape judges it afterwards. */
  fromText(text: string): unknown;
  /** The value as the server uses it; only paths change. */
  locate(value: Value, base: PathBase): Value;
}

export function integer(range: { min: number; max: number }, words: Words<number>): Setting<number> {
  return {
    ...words,
    shape: wholeNumber(range),
    values: `whole number, ${range.min} to ${range.max}`,
    fromText: (typed) => (/^[+-]?\d+$/.test(typed) ? Number(typed) : typed),
    locate: (value) => value,
  };
}

/** Bytes, as a number or with a unit ("10MB", "512 KiB"); parseSize says how many. */
export function size(
  range: { min: number; max: number },
  words: Words<number | string>,
): Setting<number | string> {
  const error = `must be a size between ${range.min} and ${range.max} bytes, such as "10MB"`;
  return {
    ...words,
    shape: leaf(SIZE_SCHEMA, (value) => {
      const isSize = Number.isSafeInteger(value) || (typeof value === 'string' && SIZE.test(value));
      const bytes = isSize ? parseSize(value as number | string) : Number.NaN;
      return bytes >= range.min && bytes <= range.max ? undefined : error;
    }),
    values: `bytes, or a size such as \`"10MB"\`, ${range.min} to ${range.max} bytes`,
    fromText: (typed) => (/^\d+$/.test(typed) ? Number(typed) : typed),
    locate: (value) => value,
  };
}

const SIZE = /^\s*(\d+(?:\.\d+)?)\s*([kmg]?)(i?)b?\s*$/i;
const SIZE_SCHEMA = {
  anyOf: [
    { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
    { type: 'string', pattern: SIZE.source },
  ],
};

/** KB, MB and GB are thousands, KiB, MiB and GiB are of 1024; a letter alone is one of 1024, as everywhere. */
export function parseSize(typed: number | string): number {
  if (typeof typed === 'number') return typed;
  const [, number = '', prefix = '', binary = ''] = SIZE.exec(typed) ?? [];
  const isThousands = binary === '' && /b\s*$/i.test(typed);
  const power = ['', 'k', 'm', 'g'].indexOf(prefix.toLowerCase());
  return Math.floor(Number(number) * (isThousands ? 1000 : 1024) ** power);
}

/** Any text; its user gives it a meaning. */
export function freeText(words: Words<string>): Setting<string> {
  return { ...words, shape: pathText, values: 'string', fromText: asIs, locate: (value) => value };
}

export function directory(words: Words<string>): Setting<string> {
  return { ...words, shape: pathText, values: 'path of a directory', fromText: asIs, locate: locatePath };
}

export function file(words: Words<string>): Setting<string> {
  return { ...words, shape: pathText, values: 'path of a file', fromText: asIs, locate: locatePath };
}

export function directories(words: Words<readonly string[]>): Setting<readonly string[]> {
  return {
    ...words,
    shape: listOf(pathText, LIST, 'must name at least one directory; leave the key out to allow all'),
    values: 'list of paths',
    fromText: splitList,
    locate: (entries, base) => entries.map((path) => locatePath(path, base)),
  };
}

export function names(words: Words<readonly string[]>): Setting<readonly string[]> {
  const name = text({ pattern: NAME.source }, (value) =>
    NAME.test(value) ? undefined : 'must be one name without spaces or commas',
  );
  return {
    ...words,
    shape: listOf(name, LIST, 'must name at least one'),
    values: 'list of names',
    fromText: splitList,
    locate: (value) => value,
  };
}

const NAME = /^[^\s,]+$/;
const LIST = 'must be a list of strings';

/** A path, or a bare name that is looked up on PATH at the start. */
export function program(words: Words<string>): Setting<string> {
  return {
    ...words,
    shape: pathText,
    values: 'path, or a name on PATH',
    fromText: asIs,
    locate: (value, base) => (/[/\\]/.test(value) ? locatePath(value, base) : value),
  };
}

/** Any number of texts, none included. */
export function list(
  words: Words<readonly string[]>,
  check: (entry: string) => string | undefined = () => undefined,
): Setting<readonly string[]> {
  return {
    ...words,
    shape: listOf(text({}, check), LIST),
    values: 'list of strings',
    fromText: splitList,
    locate: (value) => value,
  };
}

/** A rule for commands: its text alone, or with commands that it must and must not meet. */
export type CommandEntry =
  | string
  | { readonly entry: string; readonly match?: readonly string[]; readonly not_match?: readonly string[] };

const commandEntry: Shape<CommandEntry> = leaf(
  {
    anyOf: [
      { type: 'string', minLength: 1 },
      {
        type: 'object',
        properties: {
          entry: { type: 'string', minLength: 1 },
          match: { type: 'array', items: { type: 'string' } },
          not_match: { type: 'array', items: { type: 'string' } },
        },
        required: ['entry'],
        additionalProperties: false,
      },
    ],
  },
  (value) =>
    isFilled(isTable(value) ? value['entry'] : value) && (!isTable(value) || hasOnlyExamples(value))
      ? undefined
      : 'must be a command, or a table with entry, match and not_match',
);

const isFilled = (value: unknown): boolean => typeof value === 'string' && value !== '';

function hasOnlyExamples(table: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(table).every(
    ([name, value]) =>
      name === 'entry' ||
      (['match', 'not_match'].includes(name) &&
        Array.isArray(value) &&
        value.every((each) => typeof each === 'string')),
  );
}

export function commands(words: Words<readonly CommandEntry[]>): Setting<readonly CommandEntry[]> {
  return {
    ...words,
    shape: listOf(commandEntry, 'must be a list of commands'),
    values: 'list of commands, or of tables with `entry`, `match` and `not_match`',
    fromText: splitList,
    locate: (value) => value,
  };
}

/** Commands with the first arguments that they may have. */
export function argumentTable(
  words: Words<Readonly<Record<string, readonly string[]>>>,
): Setting<Readonly<Record<string, readonly string[]>>> {
  return {
    ...words,
    shape: tableOf(listOf(anyText, LIST), 'must be a table of lists'),
    values: 'table of lists of strings',
    fromText: (typed) => {
      try {
        return JSON.parse(typed);
      } catch {
        return typed;
      }
    },
    locate: (value) => value,
  };
}

/** Files or directories, of which there may be none. */
export function paths(words: Words<readonly string[]>): Setting<readonly string[]> {
  return {
    ...words,
    shape: listOf(pathText, LIST),
    values: 'list of paths',
    fromText: splitList,
    locate: (entries, base) => entries.map((path) => locatePath(path, base)),
  };
}

export function choice<const Name extends string>(
  options: readonly Name[],
  words: Words<NoInfer<Name>>,
): Setting<Name> {
  return {
    ...words,
    shape: oneOf(options),
    values: options.map((name) => `\`${name}\``).join(', '),
    fromText: asIs,
    locate: (value) => value,
  };
}

export function toggle(words: Words<boolean>): Setting<boolean> {
  return {
    ...words,
    shape: truth,
    values: '`true` or `false`',
    fromText: (typed) => (/^(?:true|false)$/i.test(typed) ? typed.toLowerCase() === 'true' : typed),
    locate: (value) => value,
  };
}

const HOST_NAME = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$|^[0-9a-f:.]*:[0-9a-f:.]*(?:%\w+)?$/i;

export function host(words: Words<string>): Setting<string> {
  return {
    ...words,
    shape: text({ pattern: HOST_NAME.source }, (value) =>
      HOST_NAME.test(value) ? undefined : 'must be a host name or an IP address, without brackets or port',
    ),
    values: 'host name or IP address',
    fromText: asIs,
    locate: (value) => value,
  };
}

const OWN_PATH = /^(?!~[^/\\])/;

const pathText = text({ pattern: OWN_PATH.source }, (path) => {
  if (!OWN_PATH.test(path)) return "must not name another user's home directory (~ alone is your own)";
  return path.includes('\0') ? 'must not contain a NUL character' : undefined;
});

const anyText: Shape<string> = leaf({ type: 'string' }, (value) =>
  typeof value === 'string' ? undefined : 'must be a string',
);

/** Empty entries are what a trailing comma or an unset shell variable leaves behind, and mean nothing. */
function splitList(typed: string): string[] {
  return typed
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

function asIs(value: string): string {
  return value;
}
