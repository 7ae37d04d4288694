/** How each shell is started in a terminal, so that it marks its prompts and commands. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ShellServerError } from '../base/errors.ts';
import { nearestFew } from '../base/nearest.ts';
import { shellName } from '../security/security.ts';

export const SHELL_TYPES = ['bash', 'zsh', 'fish', 'sh', 'cmd', 'powershell'] as const;
export type ShellType = (typeof SHELL_TYPES)[number];

interface StartOptions {
  readonly nonce: string;
  readonly isSandboxed: boolean;
  /** The environment of the server. */
  readonly inherited: Readonly<Record<string, string>>;
}

/** Where programs are looked for that have no path. */
const PLACES = ['/bin', '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'];

const PROGRAMS: Readonly<Record<ShellType, readonly string[]>> = {
  bash: ['bash'],
  zsh: ['zsh'],
  fish: ['fish'],
  sh: ['sh'],
  cmd: ['cmd.exe'],
  powershell: ['pwsh', 'powershell.exe'],
};

/** The shell of a type, or the configured one. Throws where it is not there, before anything is started. */
export function findShell(type: ShellType | undefined, configured: string, path: string) {
  const program = type === undefined ? configured : findProgram(PROGRAMS[type], path);
  if (program === undefined || (program.includes('/') && !existsSync(program)))
    throw missing(type ?? configured, path);
  const name = shellName(program);
  return {
    path: program,
    name,
    /** It says when a command begins, and not only when a prompt comes. */
    hasCommandMark: !PLAIN.has(name),
    start: startOf(program, name),
  };
}

/** Shells that only have a prompt to say things in. */
const PLAIN = new Set(['sh', 'dash', 'ash', 'busybox']);

/** In the private /tmp of every sandbox. */
const FISH_PLACE = '/tmp/.mcp-shell-fish';

/** With the scripts where they are found from inside. */
function startOf(program: string, name: string) {
  return (scripts: string, { nonce, isSandboxed, inherited }: StartOptions) => {
    const given = { MCP_SHELL_NONCE: nonce };
    if (name === 'bash')
      return { argv: [program, '--init-file', join(scripts, 'bash.sh'), '-i'], environment: given };
    if (name === 'zsh') {
      const own = inherited['ZDOTDIR'];
      return {
        argv: [program, '-i'],
        environment: {
          ...given,
          ZDOTDIR: join(scripts, 'zsh'),
          ...(own !== undefined && { MCP_SHELL_ZDOTDIR: own }),
        },
      };
    }
    if (name === 'fish') {
      const places = ['XDG_CONFIG_HOME', 'XDG_DATA_HOME'];
      const own = places.flatMap((place) =>
        inherited[place] === undefined ? [] : [[`MCP_SHELL_${place}`, inherited[place]]],
      );
      return {
        argv: [program, '--init-command', `source ${join(scripts, 'fish.fish')}`, '-i'],
        environment: {
          ...given,
          // In the sandbox it cannot write to the home directory, and would not stop complaining; the script sets
          // them right, and reads what is there.
          ...(isSandboxed && {
            ...Object.fromEntries(places.map((place) => [place, FISH_PLACE])),
            ...Object.fromEntries(own),
          }),
        },
      };
    }
    if (PLAIN.has(name))
      return {
        argv: [...(isSandboxed ? asGroupLeader() : []), program, '-i'],
        environment: { ...given, ENV: join(scripts, 'sh.sh') },
      };
    return { argv: [program], environment: {} };
  };
}

/**
 * In front of a program: it is the leader of the foreground process group, as a login would have it. The first process of a
 * sandbox is in a group of outside, to which dash gives the terminal back at its end: that fails inside, and whatever it
 * exits with becomes 2. An interactive bash makes a group of its own, and leaves it to what takes its place.
 */
function asGroupLeader(): readonly string[] {
  // Its warnings (of a language that is not there, say) are nobody's. It takes back its own level of SHLVL.
  const inBash = 'exec "$@" 2>&0';
  const bash = ['/bin/bash', '--norc', '-p', '-i', '-c', inBash, 'terminal'];
  // Where a sandbox shows the allowed programs alone it may be missing.
  const inSh = `if [ -x "$1" ]; then exec "$@" 2>/dev/null; fi; shift ${bash.length}; exec "$@"`;
  return ['/bin/sh', '-c', inSh, 'terminal', ...bash];
}

function findProgram(names: readonly string[], path: string): string | undefined {
  const places = [...path.split(':'), ...PLACES].filter((place) => place.startsWith('/'));
  return names.flatMap((name) => places.map((place) => join(place, name))).find((file) => existsSync(file));
}

function missing(wanted: string, path: string): ShellServerError {
  const there = SHELL_TYPES.filter((type) => findProgram(PROGRAMS[type], path) !== undefined);
  const near = nearestFew(wanted, there, 1);
  return new ShellServerError('EXECUTION_001', `The shell ${wanted} is not installed on this machine.`, {
    hint: `Set shell_type to an installed shell: ${(near.length === 0 ? there : near).join(', ') || 'none'}.`,
    details: { shell: wanted, available: there },
  });
}
