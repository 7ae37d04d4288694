/**
 * What compose.yaml asks of the engine, as flags of `run`: the engines of Debian have no compose that knows
 * `network_mode: none`. A key that is not known here fails, so that nothing in the file goes untested.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/root.ts';

const FLAGS: Readonly<Record<string, (value: string) => string[]>> = {
  build: () => [],
  image: () => [],
  user: (value) => [`--user=${value}`],
  stdin_open: () => ['--interactive'],
  read_only: () => ['--read-only', '--read-only-tmpfs=false'],
  cap_drop: (value) => [`--cap-drop=${value}`],
  security_opt: (value) => [`--security-opt=${value}`],
  network_mode: (value) => [`--network=${value}`],
  mem_limit: (value) => [`--memory=${value}`],
  memswap_limit: (value) => [`--memory-swap=${value}`],
  cpus: (value) => [`--cpus=${value}`],
  pids_limit: (value) => [`--pids-limit=${value}`],
  tmpfs: (value) => [`--tmpfs=${value}`],
  volumes: (value) => [`--volume=${value}`],
};

/** `variables` stand for those of compose: `${NAME:-default}`. */
export function composeFlags(service: string, variables: Readonly<Record<string, string>>): string[] {
  const text = readFileSync(join(ROOT, 'compose.yaml'), 'utf8');
  return settingsOf(text, service).flatMap(([key, value]) => {
    const flag = FLAGS[key];
    if (flag === undefined) throw new Error(`compose.yaml has ${key}, which is not tested`);
    return flag(fill(value, variables));
  });
}

/** Each value of the service by its key; of a list, each item. */
function settingsOf(text: string, service: string): [key: string, value: string][] {
  const settings: [string, string][] = [];
  let isInside = false;
  let key = '';
  for (const line of text.split('\n').filter((each) => !/^\s*(?:#|$)/.test(each))) {
    if (/^ {0,2}\S/.test(line)) isInside = line === `  ${service}:`;
    if (!isInside) continue;
    const [, name, value = ''] = /^ {4}(\w+):(?: (.*))?$/.exec(line) ?? [];
    const item = /^ {6}- (.*)$/.exec(line)?.[1];
    if (name !== undefined) key = name;
    const list = /^\[(.*)\]$/.exec(value)?.[1]?.split(', ');
    for (const each of list ?? [item ?? value]) if (each !== '') settings.push([key, unquote(each)]);
  }
  return settings;
}

const unquote = (text: string): string => text.replace(/^"(.*)"$/, '$1');

function fill(value: string, variables: Readonly<Record<string, string>>): string {
  return value.replace(/\$\{(\w+):-([^}]*)\}/g, (_, name: string, usual: string) => variables[name] ?? usual);
}
