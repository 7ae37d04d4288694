/**
 * The kinds of settings: what a value must look like, how it is read from the text of a variable or a flag, and what
 * becomes of it. keys.ts picks one for each key.
 */
import { locatePath, type PathBase } from './paths.ts';
import { isTable, leaf, listOf, oneOf, type Shape, tableOf, text, truth, wholeNumber } from './shapes.ts';
import type { PerPreset, ProjectRule, Strictness } from './strictness.ts';

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
export type Words<Value> = {
  /** One sentence, for the reference page and the JSON Schema. */
  readonly description: string;
  readonly default?: Value;
  /** Where the default is found out and not a constant, nor the preset's, or where there is none: what holds then. */
  readonly unset?: string;
  /** A second name in the environment, beside the one that is made from the key. */
  readonly variable?: string;
  readonly flag?: keyof SettingFlags;
  /** Of Settings, in its section; without it, the key in camel case. */
  readonly field?: string;
  /** What it opens: files, variables and credentials of the host, or commands beside the list of a preset that has one. */
  readonly opens?: 'host' | 'commands';
} & (
  | {
      /** Without it, nobody but the operator sets it. */
      readonly strictness?: ProjectRule<Value>;
      readonly presets?: never;
    }
  /** The default of each preset, which overrules weaker sources where it is stricter. */
  | { readonly strictness: Strictness<Value>; readonly presets: PerPreset<Value> }
);

/** Methods, not properties of a function type, so that a table may hold settings of several types. */
export interface Kind<Value, Field = Value> {
  readonly shape: Shape<Value>;
  /** What may be written, in words. */
  readonly values: string;
  /** The text of a variable or a flag as the value it means; the shape judges it afterwards. */
  fromText(text: string): unknown;
  /** The value as the server uses it; only paths change. */
  locate(value: Value, base: PathBase): Value;
  /** The value in the unit of Settings. */
  toField(value: Value): Field;
}

export type Setting<Value, Field = Value> = Words<Value> & Kind<Value, Field>;

/** What most kinds have in common. */
const PLAIN = {
  fromText: (typed: string): unknown => typed,
  locate: <Value>(value: Value): Value => value,
  toField: <Value>(value: Value): Value => value,
};

/** Settings has it `unit` times as large. */
export function integer({ unit = 1, ...range }: { min: number; max: number; unit?: number }): Kind<number> {
  return {
    ...PLAIN,
    shape: wholeNumber(range),
    values: `whole number, ${range.min} to ${range.max}`,
    fromText: (typed) => (/^[+-]?\d+$/.test(typed) ? Number(typed) : typed),
    toField: (value) => value * unit,
  };
}

/** Bytes, as a number or with a unit ("10MB", "512 KiB"); parseSize says how many. */
export function size(range: { min: number; max: number }): Kind<number | string, number> {
  const error = `must be a size between ${range.min} and ${range.max} bytes, such as "10MB"`;
  return {
    ...PLAIN,
    shape: leaf(SIZE_SCHEMA, (value) => {
      const isSize = Number.isSafeInteger(value) || (typeof value === 'string' && SIZE.test(value));
      const bytes = isSize ? parseSize(value as number | string) : Number.NaN;
      return bytes >= range.min && bytes <= range.max ? undefined : error;
    }),
    values: `bytes, or a size such as \`"10MB"\`, ${range.min} to ${range.max} bytes`,
    fromText: (typed) => (/^\d+$/.test(typed) ? Number(typed) : typed),
    toField: parseSize,
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
function parseSize(typed: number | string): number {
  if (typeof typed === 'number') return typed;
  const [, number = '', prefix = '', binary = ''] = SIZE.exec(typed) ?? [];
  const isThousands = binary === '' && /b\s*$/i.test(typed);
  const power = ['', 'k', 'm', 'g'].indexOf(prefix.toLowerCase());
  return Math.floor(Number(number) * (isThousands ? 1000 : 1024) ** power);
}

const OWN_PATH = /^(?!~[^/\\])/;

const pathText = text({ pattern: OWN_PATH.source }, (path) => {
  if (!OWN_PATH.test(path)) return "must not name another user's home directory (~ alone is your own)";
  return path.includes('\0') ? 'must not contain a NUL character' : undefined;
});

/** Any text; its user gives it a meaning. */
export const freeText: Kind<string> = { ...PLAIN, shape: pathText, values: 'string' };

export const directory: Kind<string> = {
  ...PLAIN,
  shape: pathText,
  values: 'path of a directory',
  locate: locatePath,
};

export const file: Kind<string> = { ...directory, values: 'path of a file' };

/** A path, or a bare name that is looked up on PATH at the start. */
export const program: Kind<string> = {
  ...PLAIN,
  shape: pathText,
  values: 'path, or a name on PATH',
  locate: (value, base) => (/[/\\]/.test(value) ? locatePath(value, base) : value),
};

const LIST = 'must be a list of strings';

/** Any number of texts, none included. */
export function list(check?: (entry: string) => string | undefined): Kind<readonly string[]> {
  return { ...PLAIN, shape: listOf(text({}, check), LIST), values: 'list of strings', fromText: splitList };
}

/** Files or directories, of which there may be none. */
export const paths: Kind<readonly string[]> = {
  ...list(),
  shape: listOf(pathText, LIST),
  values: 'list of paths',
  locate: (entries, base) => entries.map((path) => locatePath(path, base)),
};

export const directories: Kind<readonly string[]> = {
  ...paths,
  shape: listOf(pathText, LIST, 'must name at least one directory; leave the key out to allow all'),
};

const NAME = /^[^\s,]+$/;

const oneName = text({ pattern: NAME.source }, (value) =>
  NAME.test(value) ? undefined : 'must be one name without spaces or commas',
);

export const names: Kind<readonly string[]> = {
  ...list(),
  shape: listOf(oneName, LIST, 'must name at least one'),
  values: 'list of names',
};

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

export const commands: Kind<readonly CommandEntry[]> = {
  ...PLAIN,
  shape: listOf(commandEntry, 'must be a list of commands'),
  values: 'list of commands, or of tables with `entry`, `match` and `not_match`',
  fromText: splitList,
};

const anyText: Shape<string> = leaf({ type: 'string' }, (value) =>
  typeof value === 'string' ? undefined : 'must be a string',
);

/** Commands with the first arguments that they may have. */
export const argumentTable: Kind<Readonly<Record<string, readonly string[]>>> = {
  ...PLAIN,
  shape: tableOf(listOf(anyText, LIST), 'must be a table of lists'),
  values: 'table of lists of strings',
  fromText: (typed) => {
    try {
      return JSON.parse(typed);
    } catch {
      return typed;
    }
  },
};

export function choice<const Name extends string>(options: readonly Name[]): Kind<Name> {
  const values = options.map((name) => `\`${name}\``).join(', ');
  return { ...PLAIN, shape: oneOf(options), values };
}

export const toggle: Kind<boolean> = {
  ...PLAIN,
  shape: truth,
  values: '`true` or `false`',
  fromText: (typed) => (/^(?:true|false)$/i.test(typed) ? typed.toLowerCase() === 'true' : typed),
};

const HOST_NAME = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$|^[0-9a-f:.]*:[0-9a-f:.]*(?:%\w+)?$/i;

export const host: Kind<string> = {
  ...PLAIN,
  shape: text({ pattern: HOST_NAME.source }, (value) =>
    HOST_NAME.test(value) ? undefined : 'must be a host name or an IP address, without brackets or port',
  ),
  values: 'host name or IP address',
};

/** Empty entries are what a trailing comma or an unset shell variable leaves behind, and mean nothing. */
function splitList(typed: string): string[] {
  return typed
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}
