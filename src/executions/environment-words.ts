/**
 * Environments as they are handed to a process. Commands in a row have the same one but for their markers, so that what is
 * made of it is remembered.
 */
import { oncePer } from '../base/once.ts';
import { type Environment, MARKER_NAME } from '../security/security.ts';

/** "NAME=value" for each variable, with a NUL between them, which none of them can have. */
export const wordsOf = (environment: Environment): string =>
  markedWords.get(environment) ?? plainWords(environment);

const plainWords = oncePer((environment: Environment) =>
  Object.entries(environment)
    .map(([name, value]) => `${name}=${value}`)
    .join('\0'),
);

const markedWords = new WeakMap<Environment, string>();

/** The environment of a process that is found by its marker, "NAME=value". */
export function withMarker(environment: Environment, marker: string): Environment {
  const marked = { ...environment, ...entryOf(marker) };
  const words = plainWords(environment);
  markedWords.set(marked, words === '' ? marker : `${words}\0${marker}`);
  return marked;
}

/** That of a process which has one. */
export function markerIn(environment: Environment): string | undefined {
  const value = environment[MARKER_NAME];
  return value === undefined ? undefined : `${MARKER_NAME}=${value}`;
}

/** "NAME=value" */
export function entryOf(marker: string): Environment {
  const at = marker.indexOf('=');
  return { [marker.slice(0, at)]: marker.slice(at + 1) };
}
