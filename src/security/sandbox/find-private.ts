/** What of the host is private: credentials, histories and keys, as far as lists know where they lie. */
import { isAbsolute, join } from 'node:path';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { isReadable, isThere, kindOf, namesIn, thereOrShut } from './host-files.ts';
import { placesOf } from './moved.ts';
import {
  CREDENTIAL_VARIABLES,
  PRIVATE_IN_HOME,
  PRIVATE_IN_SYSTEM,
  PRIVATE_NAMES,
  PRIVATE_OF_EDITORS,
} from './private-paths.ts';

/** As it is now, by real paths. */
export function findPrivatePaths(homedir: string, environment: Readonly<Record<string, string>>): string[] {
  const home = realPathOf(homedir);
  const system = [...PRIVATE_IN_SYSTEM, ...namesIn('/etc/ssh', /_key$/)].filter(
    (path) => isThere(path) && isReadable(path) && !isInside(home, path),
  );
  const own = [
    ...privateCandidates(home, environment).flatMap(thereOrShut),
    ...namesIn(home, PRIVATE_NAMES),
    // HISTFILE=/dev/null, say: that has nothing to hide, and is written to.
  ].filter((path) => kindOf(path) !== 'special');
  return [...new Set([...system, ...own].map(realPathOf))];
}

/** Where something of the user's may be some day: in the home directory, or where a variable leads. */
export function privateCandidates(home: string, environment: Readonly<Record<string, string>>): string[] {
  return [
    ...PRIVATE_IN_HOME.flatMap((name) => placesOf(name, home, environment)),
    ...PRIVATE_OF_EDITORS.flatMap(([around, names, inside]) =>
      placesOf(around, home, environment)
        .flatMap((directory) => namesIn(directory, names))
        .map((editor) => join(editor, inside)),
    ),
    // KUBECONFIG may name several.
    ...CREDENTIAL_VARIABLES.flatMap((name) => (environment[name] ?? '').split(':')).filter(isAbsolute),
  ];
}
