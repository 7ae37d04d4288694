/**
 * Settings from the environment: `limits.max_processes` is `MCP_SHELL_LIMITS_MAX_PROCESSES`. An unknown variable with
 * our prefix is a mistake, because a restriction with a slip in its name must not silently do nothing.
 */
import { didYouMean } from '../nearest.ts';
import { MARKS, OTHER_VARIABLES, SETTING_KEYS, variablesOf } from './keys.ts';
import { type Entries, enterText, type Layer, type Mistakes, mistake } from './layers.ts';
import type { PathBase } from './paths.ts';

const PREFIX = 'MCP_SHELL_';

/** A copy of the process's environment; the only place in the program that reads it. */
export function readEnvironment(): Readonly<Record<string, string>> {
  const copy: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) if (value !== undefined) copy[name] = value;
  return copy;
}

export function readEnvironmentLayer(
  environment: Readonly<Record<string, string>>,
  options: { base: PathBase; mistakes: Mistakes },
): Layer {
  const { base, mistakes } = options;
  const entries: Entries = {};
  const known = new Set(Object.keys(OTHER_VARIABLES));
  for (const key of SETTING_KEYS) {
    const names = variablesOf(key);
    for (const name of names) known.add(name);
    const set = names.filter((name) => environment[name] !== undefined);
    const [where] = set;
    if (where === undefined) continue;
    if (set.length > 1) {
      mistakes.push(mistake(key, 'is set by two variables; keep one of them', set.join(', ')));
      continue;
    }
    enterText(entries, environment[where] ?? '', { key, where, base, mistakes });
  }
  for (const name of Object.keys(environment).sort()) {
    // Lower case is a slip too, where the system tells the two apart.
    if (!name.toUpperCase().startsWith(PREFIX) || known.has(name) || MARKS.includes(name)) continue;
    const hint = didYouMean(name, known, (meant) => `; did you mean ${meant}?`);
    mistakes.push(mistake(name, `no such setting${hint}`, 'environment'));
  }
  return { source: 'environment', entries };
}

/** `DEBUG` is a list that several programs share. */
export function isVerbose(environment: Readonly<Record<string, string>>): boolean {
  return (environment['DEBUG'] ?? '').split(',').some((entry) => entry.trim() === 'mcp-shell');
}
