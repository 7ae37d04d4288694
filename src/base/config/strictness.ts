/**
 * Which of two values of a setting is stricter. The same measure serves a project's file, presets, tokens and the tool
 * security_set_restrictions.
 *
 * A settings file that was merely found in the project may tighten, and nothing else. A user who clones a repository has
 * not read its settings, so they must not open anything that is shut without them. It gets what is left of its value, in
 * its stricter form, and a sentence for each part that was refused.
 * Directories are compared, and handed on, with their symbolic links followed: a link that points inside today and
 * outside after the first command would otherwise pass.
 */
import { directoryProblem, isInside, realPathOf } from './paths.ts';
import type { PresetName } from './preset-names.ts';

export interface ProjectRule<Value> {
  /** For the reference page. */
  readonly sentence: string;
  judge(value: Value, held: Value | undefined, project: Project): Verdict<Value>;
}

export interface Strictness<Value> extends ProjectRule<Value> {
  /** Never looser than either of the two. */
  stricter(held: Value, asked: Value): Value;
}

/** In the unit of the table; undefined: no limit. */
export type PerPreset<Value> = Readonly<Record<PresetName, Value | undefined>>;

export interface Verdict<Value> {
  /** undefined: nothing is left of it, and what held before holds. */
  readonly value: Value | undefined;
  readonly refusals: readonly string[];
}

export interface Project {
  /** The directory that holds the file, symbolic links followed. */
  readonly directory: string;
  /** The allowed directories that hold in the end; undefined: not restricted. */
  readonly allowedDirectories: readonly string[] | undefined;
  readonly toolsets: Toolsets | undefined;
}

/** The tools of each toolset, where the caller knows them. */
export type Toolsets = Readonly<Record<string, readonly string[]>>;

/** Nobody but the operator sets it, and its values are neither looser nor stricter. */
export const operatorOnly: ProjectRule<never> = {
  sentence: 'Cannot be set.',
  judge: () => refuse('ignored: a project file cannot set it'),
};

/** `unset` is what holds in effect while nobody set the key; without it, anything is tighter than nothing. */
export function smaller(unset = Number.POSITIVE_INFINITY): Strictness<number> {
  return {
    sentence: 'Only lower than what holds without it.',
    stricter: (held, asked) => Math.min(held, asked),
    judge(value, held = unset) {
      if (this.stricter(held, value) === value) return accept(value);
      return refuse(`${value} is ignored: a project file can only lower it, and ${held} holds`);
    },
  };
}

/** The names stand from open to strict; a later one than what holds is stricter. */
export function later<Name extends string>(names: readonly Name[]): Strictness<Name> {
  return {
    sentence: `Only a stricter one; from open to strict: ${names.map((name) => `\`${name}\``).join(', ')}.`,
    stricter: (held, asked) => (names.indexOf(asked) > names.indexOf(held) ? asked : held),
    judge(value, held) {
      if (held === undefined || this.stricter(held, value) === value) return accept(value);
      return refuse(`${show(value)} is ignored: a project file can only choose a stricter one than ${held}`);
    },
  };
}

/** What it adds is added to what holds without it. */
export function more<Item extends string | { readonly entry: string }>(): Strictness<readonly Item[]> {
  const textOf = (item: Item): string => (typeof item === 'string' ? item : item.entry);
  return {
    sentence: 'Added to what holds without it.',
    stricter(held, asked) {
      const known = new Set(held.map(textOf));
      return [...held, ...asked.filter((item) => !known.has(textOf(item)))];
    },
    judge(value, held = []) {
      return accept(this.stricter(held, value));
    },
  };
}

/** One value alone, and only over these where the operator has set something. */
export function only<Value>(strict: Value, over: readonly Value[] = []): Strictness<Value> {
  return {
    sentence: `Only \`${String(strict)}\`.`,
    stricter: (held, asked) => (held === strict ? held : asked),
    judge(value, held) {
      const isStricter = held === undefined || held === strict || over.length === 0 || over.includes(held);
      if (value === strict && isStricter) return accept(value);
      return refuse(`${JSON.stringify(value)} is ignored: a project file can only set ${String(strict)}`);
    },
  };
}

export function narrowerDirectories(): Strictness<readonly string[]> {
  return {
    sentence: 'Only directories inside those that are allowed without it, or else inside the project.',
    stricter: commonDirectories,
    judge(value, held, project) {
      const bounds = held ?? [project.directory];
      const place = held === undefined ? 'the project' : 'what is allowed without it';
      const kept: string[] = [];
      const refusals: string[] = [];
      for (const path of value) {
        // A directory that is created later could be created as a link to anywhere.
        const problem = directoryProblem(path);
        if (problem !== undefined) refusals.push(`${show(path)} is ignored: it ${problem}`);
        else if (isWithin(path, bounds)) kept.push(realPathOf(path));
        else
          refusals.push(`${show(path)} is ignored: a project file can only name directories inside ${place}`);
      }
      return { value: kept.length === 0 ? undefined : kept, refusals };
    },
  };
}

/** Whether the directory lies in one of these. */
export function isWithin(path: string, directories: readonly string[]): boolean {
  const real = realPathOf(path);
  return directories.some((directory) => isInside(real, realPathOf(directory)));
}

/** Those of either that lie inside the other. */
export function commonDirectories(held: readonly string[], asked: readonly string[]): readonly string[] {
  const common = asked.flatMap((path) => {
    const real = realPathOf(path);
    return isWithin(real, held) ? [real] : held.map(realPathOf).filter((bound) => isInside(bound, real));
  });
  return [...new Set(common)];
}

export function insideProject(): ProjectRule<string> {
  return {
    sentence:
      'Only a directory inside the project, and inside `security.allowed_directories` where they are set.',
    judge(value, _held, project) {
      const real = realPathOf(value);
      if (!isInside(real, project.directory)) {
        return refuse(
          `${show(value)} is ignored: a project file can only name a directory inside the project`,
        );
      }
      const allowed = project.allowedDirectories;
      if (allowed !== undefined && !isWithin(real, allowed)) {
        return refuse(`${show(value)} is ignored: it is outside security.allowed_directories`);
      }
      return accept(real);
    },
  };
}

export function fewerTools(): ProjectRule<readonly string[]> {
  return {
    sentence: 'Only tools that are there without it.',
    judge(value, held = [], { toolsets }) {
      const there = new Set(held.flatMap((name) => toolsOf(name, toolsets)));
      const kept = value.filter(
        (name) => held.includes('all') || toolsOf(name, toolsets).every((tool) => there.has(tool)),
      );
      const refusals = value
        .filter((name) => !kept.includes(name))
        .map(
          (name) =>
            `${show(name)} is ignored: a project file can only leave tools out, and ${held.join(', ')} holds`,
        );
      return { value: kept.length === 0 ? undefined : kept, refusals };
    },
  };
}

function toolsOf(name: string, toolsets: Toolsets | undefined): readonly string[] {
  return toolsets !== undefined && Object.hasOwn(toolsets, name) ? (toolsets[name] ?? []) : [name];
}

function accept<Value>(value: Value): Verdict<Value> {
  return { value, refusals: [] };
}

function refuse(refusal: string): Verdict<never> {
  return { value: undefined, refusals: [refusal] };
}

function show(text: string): string {
  return JSON.stringify(text);
}
