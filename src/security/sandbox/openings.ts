/** What `expose` lets through, found on this host. */
import { isAbsolute } from 'node:path';
import { locatePath, realPathOf } from '../../base/config/paths.ts';
import { EXPOSURES } from './exposures.ts';
import { placesOf } from './moved.ts';

export function openings(
  expose: readonly string[],
  host: { readonly homedir: string; readonly environment: Readonly<Record<string, string>> },
) {
  const home = realPathOf(host.homedir);
  const paths: string[] = [];
  const sockets: string[] = [];
  for (const name of expose) {
    const known = Object.hasOwn(EXPOSURES, name) ? EXPOSURES[name] : undefined;
    if (known === undefined) {
      paths.push(realPathOf(locatePath(name, { directory: home, homedir: home })));
      continue;
    }
    paths.push(...(known.home ?? []).flatMap((path) => placesOf(path, home, host.environment)));
    sockets.push(
      ...(known.sockets ?? []),
      ...(known.socketVariables ?? []).flatMap((variable) => socketOf(host.environment[variable])),
    );
  }
  return { paths, sockets };
}

function socketOf(value: string | undefined): string[] {
  const path = value?.replace(/^unix:\/\//, '');
  return path !== undefined && isAbsolute(path) ? [path] : [];
}

/** A name in `expose` that is neither known nor a path is a slip. */
export function unknownExposures(expose: readonly string[]): string[] {
  return expose.filter((name) => !Object.hasOwn(EXPOSURES, name) && !/^[/~]/.test(name));
}
