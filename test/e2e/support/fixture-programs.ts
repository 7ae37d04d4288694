/** Small programs on PATH that stand in for those which need a network, or which a machine may not have. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Place } from './product.ts';

/**
 * Writes them and answers with the environment in which the server finds them first: a login shell that says nothing
 * leaves the PATH as it is.
 */
export function withPrograms(
  place: Place,
  programs: Readonly<Record<string, string>>,
): { PATH: string; SHELL: string } {
  const directory = join(place.work, '.bin');
  mkdirSync(directory, { recursive: true });
  for (const [name, script] of Object.entries(programs))
    writeFileSync(join(directory, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { PATH: `${directory}:${process.env['PATH'] ?? ''}`, SHELL: '/bin/false' };
}
