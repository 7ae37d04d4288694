/**
 * What a settings file that was merely found in the project may do: tighten, and nothing else. A user who clones a
 * repository has not read its settings, so they must not open anything that is shut without them.
 *
 * A rule answers with what is left of the value, in its stricter form, and with a sentence for each part it refused.
 * Directories are compared, and handed on, with their symbolic links followed: a link that points inside today and
 * outside after the first command would otherwise pass.
 */
import { directoryProblem, isInside, realPathOf } from './paths.ts';

export interface ProjectRule<Value> {
  /** For the reference page. */
  readonly sentence: string;
  judge(value: Value, held: Value | undefined, project: Project): Verdict<Value>;
}

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

export function never<Value>(): ProjectRule<Value> {
  return {
    sentence: 'Cannot be set.',
    judge: () => ({ value: undefined, refusals: ['ignored: a project file cannot set it'] }),
  };
}

/** `unset` is what holds in effect while nobody set the key; without it, anything is tighter than nothing. */
export function smaller(unset = Number.POSITIVE_INFINITY): ProjectRule<number> {
  return {
    sentence: 'Only lower than what holds without it.',
    judge(value, held = unset) {
      if (value <= held) return { value, refusals: [] };
      return refuse(`${value} is ignored: a project file can only lower it, and ${held} holds`);
    },
  };
}

/** The names stand from open to strict; a later one than what holds is stricter. */
export function later<Name extends string>(names: readonly Name[]): ProjectRule<Name> {
  return {
    sentence: `Only a stricter one; from open to strict: ${names.map((name) => `\`${name}\``).join(', ')}.`,
    judge(value, held) {
      if (held === undefined || names.indexOf(value) >= names.indexOf(held)) return { value, refusals: [] };
      return refuse(`${show(value)} is ignored: a project file can only choose a stricter one than ${held}`);
    },
  };
}

/** What it adds is added to what holds without it. */
export function more<Item>(): ProjectRule<readonly Item[]> {
  return {
    sentence: 'Added to what holds without it.',
    judge: (value, held = []) => ({ value: [...held, ...value], refusals: [] }),
  };
}

/** One value alone, and only over these where the operator has set something. */
export function only<Value>(strict: Value, over: readonly Value[] = []): ProjectRule<Value> {
  return {
    sentence: `Only \`${String(strict)}\`.`,
    judge(value, held) {
      const isStricter = held === undefined || held === strict || over.length === 0 || over.includes(held);
      if (value === strict && isStricter) return { value, refusals: [] };
      return refuse(`${JSON.stringify(value)} is ignored: a project file can only set ${String(strict)}`);
    },
  };
}

export function narrowerDirectories(): ProjectRule<readonly string[]> {
  return {
    sentence: 'Only directories inside those that are allowed without it, or else inside the project.',
    judge(value, held, project) {
      const bounds = held === undefined ? [project.directory] : held.map(realPathOf);
      const place = held === undefined ? 'the project' : 'what is allowed without it';
      const kept: string[] = [];
      const refusals: string[] = [];
      for (const path of value) {
        const real = realPathOf(path);
        // A directory that is created later could be created as a link to anywhere.
        const problem = directoryProblem(path);
        if (problem !== undefined) refusals.push(`${show(path)} is ignored: it ${problem}`);
        else if (bounds.some((bound) => isInside(real, bound))) kept.push(real);
        else
          refusals.push(`${show(path)} is ignored: a project file can only name directories inside ${place}`);
      }
      return { value: kept.length === 0 ? undefined : kept, refusals };
    },
  };
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
      if (allowed !== undefined && !allowed.some((directory) => isInside(real, realPathOf(directory)))) {
        return refuse(`${show(value)} is ignored: it is outside security.allowed_directories`);
      }
      return { value: real, refusals: [] };
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

function refuse(refusal: string): Verdict<never> {
  return { value: undefined, refusals: [refusal] };
}

function show(text: string): string {
  return JSON.stringify(text);
}
