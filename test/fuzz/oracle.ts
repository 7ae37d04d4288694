/**
 * Real bash as the judge of what a text runs. Scripts run where nothing is: a PATH that leads nowhere, a root that holds bash and its
 * libraries read-only, a tmpfs, no network, no other processes; every command that bash does not find is recorded.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Script number, then the words of a command that bash tried to run. */
export interface Ran {
  readonly script: number;
  readonly argv: readonly string[];
}

const DRIVER = `
command_not_found_handle() {
  builtin printf '%s\\0' $'\\1run' "$FUZZ_ID" "$#" "$@" >&9
  case $1 in f*) return 1;; esac
  return 0
}
export -f command_not_found_handle
exec 9>&1
FUZZ_ID=0
while IFS= builtin read -r -d '' text; do
  export FUZZ_ID
  PATH=/nowhere /t/timeout -s KILL 0.5 /bin/bash --norc --noprofile -c -- "$text" </dev/null >/dev/null 2>&1
  FUZZ_ID=$((FUZZ_ID + 1))
done
builtin printf '%s\\0' end 0
`;

/** Whether bubblewrap is there and may make namespaces. */
export function canRunOracle(): boolean {
  return (
    spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', '/bin/true'], { stdio: 'ignore' }).status ===
    0
  );
}

/** Runs the scripts one after another; a script that hangs is killed after half a second. */
export async function runScripts(scripts: readonly string[]): Promise<Ran[]> {
  const libraries = ['/lib', '/lib64', '/usr/lib', '/usr/lib64'].filter((path) => existsSync(path));
  const args = [
    '--unshare-all --die-with-parent --new-session --cap-drop ALL --clearenv'.split(' '),
    '--setenv LC_ALL C.UTF-8 --setenv HOME /tmp'.split(' '),
    libraries.flatMap((path) => ['--ro-bind', path, path]),
    '--ro-bind /bin/bash /bin/bash --ro-bind /usr/bin/timeout /t/timeout'.split(' '),
    '--dev /dev --size 16000000 --tmpfs /tmp --remount-ro / --chdir /tmp'.split(' '),
    ['--', '/bin/bash', '--norc', '--noprofile', '-c', DRIVER],
  ].flat();
  const child = spawn('bwrap', args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const chunks: Buffer[] = [];
  const complaints: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => complaints.push(chunk));
  child.stdin.on('error', () => {});
  child.stdin.end(scripts.map((script) => `${script}\0`).join(''));
  await new Promise((resolve) => child.on('close', resolve));
  const fields = Buffer.concat(chunks).toString().split('\0');
  if (!fields.includes('end'))
    throw new Error(`The oracle did not finish: ${Buffer.concat(complaints).toString()}`);
  return readRecords(fields);
}

/** Commands in the background may write at the same time, so each record is found by its mark. */
function readRecords(fields: readonly string[]): Ran[] {
  const records: Ran[] = [];
  fields.forEach((field, at) => {
    if (field !== '\x01run') return;
    const script = Number(fields[at + 1]);
    const argv = fields.slice(at + 3, at + 3 + Number(fields[at + 2]));
    if (!argv.some((word) => word.includes('\x01'))) records.push({ script, argv });
  });
  return records;
}
