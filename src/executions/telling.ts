/** How a command is told to the shell that waits behind a wall, so that nothing of the shell is left of it. */
import { WALL_FDS } from '../security/security.ts';
import type { EnclosedSpec } from './enclosed.ts';

/** What fits into a pipe, so that telling never blocks. */
const MAX_SCRIPT_BYTES = 60_000;
/** Those that a shell does not take like any other; `_` is every shell's own. */
const OF_SHELLS =
  /^(?:PPID|E?UID|GROUPS|OPTIND|LINENO|S?RANDOM|SECONDS|SHELLOPTS|BASHOPTS|BASHPID|BASH_(?:VERSINFO|COMMAND|SUBSHELL|ARGV0)|FUNCNAME|DIRSTACK|EPOCH(?:SECONDS|REALTIME)|HISTCMD|PIPESTATUS)$/;

/** Not where a shell would change something of it. */
export function canBeTold(spec: EnclosedSpec): boolean {
  const canExport = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name) && !OF_SHELLS.test(name);
  return (
    spec.terminal === undefined &&
    spec.argv[0]?.startsWith('/') === true &&
    Object.keys(spec.environment).every(canExport) &&
    Buffer.byteLength(scriptOf(spec)) <= MAX_SCRIPT_BYTES
  );
}

/** Not through env(1): everybody on the machine sees the arguments of a process, and variables may be secrets. */
export function scriptOf(spec: EnclosedSpec): string {
  const { argv, environment, directory, inputData, streams, wantsState } = spec;
  const exported = Object.entries(environment)
    .filter(([name]) => name !== '_' && name !== 'PWD')
    .map(([name, value]) => `${name}=${quoted(value)}`);
  const stdin = inputData === undefined ? '</dev/null' : `<&${WALL_FDS.later}`;
  return [
    // Before anything is said there: nobody reads from it.
    ...(streams.includes('combined')
      ? ['exec 2>&1']
      : streams.includes('stderr')
        ? []
        : ['exec 2>/dev/null']),
    `cd -P ${quoted(directory)} || exit 126`,
    // Shells have some of their own, and bash complains of languages that are not there.
    'unset OLDPWD SHLVL',
    `{ export ${[...exported, `PWD=${quoted(directory)}`].join(' ')}; } 2>/dev/null`,
    // bash takes one away again.
    ...(/^\d+$/.test(environment['SHLVL'] ?? '') ? ['[ -z "$BASH_VERSION" ] || SHLVL=$((SHLVL + 1))'] : []),
    `exec ${argv.map(quoted).join(' ')} ${stdin} ${WALL_FDS.later}<&- ${wantsState ? '' : '3>&-'}\n`,
  ].join('; ');
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;
