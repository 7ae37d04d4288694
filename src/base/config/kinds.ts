/**
 * The kinds of settings: what a value must look like, how it is read from the text of a variable or a flag, and what
 * becomes of it. keys.ts picks one for each key.
 */
import { z } from 'zod';
import { locatePath, type PathBase } from './paths.ts';
import type { ProjectRule } from './project-rules.ts';

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
  readonly schema: z.ZodType<Value>;
  /** What may be written, in words. */
  readonly values: string;
  /** The text of a variable or a flag as the value it means; the schema judges it afterwards. */
  fromText(text: string): unknown;
  /** The value as the server uses it; only paths change. */
  locate(value: Value, base: PathBase): Value;
}

export function integer(range: { min: number; max: number }, words: Words<number>): Setting<number> {
  const { min, max } = range;
  const error = `must be between ${min} and ${max}`;
  return {
    ...words,
    schema: z.int({ error: 'must be a whole number' }).min(min, { error }).max(max, { error }),
    values: `whole number, ${min} to ${max}`,
    fromText: (text) => (/^[+-]?\d+$/.test(text) ? Number(text) : text),
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
    schema: z
      .union([z.int({ error }), z.string().regex(SIZE, { error })], { error })
      .refine((value) => parseSize(value) >= range.min && parseSize(value) <= range.max, { error }),
    values: `bytes, or a size such as \`"10MB"\`, ${range.min} to ${range.max} bytes`,
    fromText: (typed) => (/^\d+$/.test(typed) ? Number(typed) : typed),
    locate: (value) => value,
  };
}

const SIZE = /^\s*(\d+(?:\.\d+)?)\s*([kmg]?)(i?)b?\s*$/i;

/** KB, MB and GB are thousands, KiB, MiB and GiB are of 1024; a letter alone is one of 1024, as everywhere. */
export function parseSize(typed: number | string): number {
  if (typeof typed === 'number') return typed;
  const [, number = '', prefix = '', binary = ''] = SIZE.exec(typed) ?? [];
  const isThousands = binary === '' && /b\s*$/i.test(typed);
  const power = ['', 'k', 'm', 'g'].indexOf(prefix.toLowerCase());
  return Math.floor(Number(number) * (isThousands ? 1000 : 1024) ** power);
}

/** Any text; whoever uses it says what it means. */
export function freeText(words: Words<string>): Setting<string> {
  return { ...words, schema: pathText, values: 'string', fromText: asIs, locate: (value) => value };
}

export function directory(words: Words<string>): Setting<string> {
  return { ...words, schema: pathText, values: 'path of a directory', fromText: asIs, locate: locatePath };
}

export function file(words: Words<string>): Setting<string> {
  return { ...words, schema: pathText, values: 'path of a file', fromText: asIs, locate: locatePath };
}

export function directories(words: Words<readonly string[]>): Setting<readonly string[]> {
  return {
    ...words,
    schema: listOf(pathText, 'must name at least one directory; leave the key out to allow all'),
    values: 'list of paths',
    fromText: splitList,
    locate: (entries, base) => entries.map((path) => locatePath(path, base)),
  };
}

export function names(words: Words<readonly string[]>): Setting<readonly string[]> {
  const name = filled.regex(/^[^\s,]+$/, { error: 'must be one name without spaces or commas' });
  return {
    ...words,
    schema: listOf(name, 'must name at least one'),
    values: 'list of names',
    fromText: splitList,
    locate: (value) => value,
  };
}

/** A path, or a bare name that is looked up on PATH by whoever starts it. */
export function program(words: Words<string>): Setting<string> {
  return {
    ...words,
    schema: pathText,
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
  const entry = filled.superRefine((value, context) => {
    const problem = check(value);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem, input: value });
  });
  return {
    ...words,
    schema: z.array(entry, { error: 'must be a list of strings' }),
    values: 'list of strings',
    fromText: splitList,
    locate: (value) => value,
  };
}

/** A rule for commands: its text alone, or with commands that it must and must not meet. */
export type CommandEntry =
  | string
  | { readonly entry: string; readonly match?: readonly string[]; readonly not_match?: readonly string[] };

const commandEntry: z.ZodType<CommandEntry> = z.union(
  [
    z.string().min(1),
    z.strictObject({
      entry: z.string().min(1),
      match: z.array(z.string()).optional(),
      not_match: z.array(z.string()).optional(),
    }),
  ],
  { error: 'must be a command, or a table with entry, match and not_match' },
) as z.ZodType<CommandEntry>;

export function commands(words: Words<readonly CommandEntry[]>): Setting<readonly CommandEntry[]> {
  return {
    ...words,
    schema: z.array(commandEntry, { error: 'must be a list of commands' }),
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
    schema: z.record(z.string(), z.array(z.string(), { error: 'must be a list of strings' }), {
      error: 'must be a table of lists',
    }),
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
    schema: z.array(pathText, { error: 'must be a list of strings' }),
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
    schema: z.enum(options, { error: `must be one of ${options.join(', ')}` }),
    values: options.map((name) => `\`${name}\``).join(', '),
    fromText: asIs,
    locate: (value) => value,
  };
}

export function toggle(words: Words<boolean>): Setting<boolean> {
  return {
    ...words,
    schema: z.boolean({ error: 'must be true or false' }),
    values: '`true` or `false`',
    fromText: (typed) => (/^(?:true|false)$/i.test(typed) ? typed.toLowerCase() === 'true' : typed),
    locate: (value) => value,
  };
}

const HOST_NAME = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$|^[0-9a-f:.]*:[0-9a-f:.]*(?:%\w+)?$/i;

export function host(words: Words<string>): Setting<string> {
  return {
    ...words,
    schema: filled.regex(HOST_NAME, {
      error: 'must be a host name or an IP address, without brackets or port',
    }),
    values: 'host name or IP address',
    fromText: asIs,
    locate: (value) => value,
  };
}

const filled = z.string({ error: 'must be a string' }).min(1, { error: 'must not be empty' });

const pathText = filled
  .regex(/^(?!~[^/\\])/, { error: "must not name another user's home directory (~ alone is your own)" })
  .refine((path) => !path.includes('\0'), { error: 'must not contain a NUL character' });

function listOf(item: z.ZodType<string>, whenEmpty: string): z.ZodType<readonly string[]> {
  return z.array(item, { error: 'must be a list of strings' }).min(1, { error: whenEmpty });
}

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
