/**
 * Finds out whether the sandbox stands, by real attempts from inside: to write outside, to change the kernel's settings,
 * to see other processes, to reach the network. What is believed about a kernel or a container is no evidence.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { randomText } from '../../base/ids.ts';
import { readText } from './host-files.ts';
import type { SandboxSpec } from './profile.ts';

/** Runs a fixed program of ours to its end; app.ts hands it in, since only executions/ creates processes. */
export type RunHelper = (call: {
  readonly argv: readonly string[];
  readonly sandboxSpec?: SandboxSpec;
  readonly environment?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}) => Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;

export interface ProbeResult {
  readonly holds: boolean;
  /** What was tried, and whether it was stopped. */
  readonly checks: Readonly<Record<string, boolean>>;
  readonly problem?: string;
  /** It could not be tried to the end. */
  readonly isIncomplete?: boolean;
}

const CHECKS = ['write', 'kernel', 'processes', 'privileges', 'network'] as const;

/**
 * Shell builtins only: in a root of allowed programs there is nothing else. No process of its own for any of it, since the
 * first command waits for the answer.
 */
const SCRIPT = `
tell() { if [ "$2" = 0 ]; then echo "$1 open"; else echo "$1 shut"; fi; }
write() { found=1; for place in "$@"; do true > "$place/$NAME_TRIED" && found=0; done; return $found; }
kernel() { true >> /proc/sys/kernel/core_pattern || true >> /proc/sysrq-trigger; }
processes() { [ $# -gt 8 ]; }
privileges() {
  given=2
  while read -r name value; do
    case "$name $value" in 'CapEff: 0000000000000000' | 'NoNewPrivs: 1') given=$((given - 1));; esac
  done < /proc/self/status
  [ $given != 0 ]
}
network() {
  [ "$NETWORK_TRIED" = 1 ] || return 1
  while read -r name rest; do case $name in lo:*|Inter-*|face) ;; *) return 0;; esac; done < /proc/net/dev
  return 1
}
{
  write "$@"; tell write $?
  kernel; tell kernel $?
  processes /proc/[0-9]*; tell processes $?
  privileges; tell privileges $?
  network; tell network $?
} 2>/dev/null
`;

export async function probeSandbox(
  sandboxSpec: SandboxSpec,
  run: RunHelper,
  host: { readonly places: readonly string[]; readonly triesNetwork: boolean },
): Promise<ProbeResult> {
  const name = `.mcp-shell-probe-${randomText()}`;
  const { code, stdout, stderr } = await run({
    argv: ['/bin/sh', '-c', SCRIPT, 'probe', ...host.places],
    sandboxSpec,
    environment: {
      PATH: '/usr/bin:/bin',
      NAME_TRIED: name,
      NETWORK_TRIED: host.triesNetwork ? '1' : '0',
    },
    timeoutMs: 10_000,
  }).catch((error: unknown) => ({ code: null, stdout: '', stderr: String(error) }));
  const tried = CHECKS.filter((check) => check !== 'network' || host.triesNetwork);
  const checks: Record<string, boolean> = {};
  for (const check of tried) {
    if (stdout.includes(`${check} shut\n`)) checks[check] = true;
    else if (stdout.includes(`${check} open\n`)) checks[check] = false;
  }
  // What counts is whether it is there for the host: inside, a part of it may be memory.
  const written = host.places.map((place) => join(place, name)).filter((path) => existsSync(path));
  for (const path of written) rmSync(path, { force: true });
  checks['write'] = written.length === 0 && checks['write'] !== undefined;
  const open = tried.filter((check) => checks[check] === false);
  const isComplete = code === 0 && tried.every((check) => checks[check] !== undefined);
  if (isComplete && open.length === 0) return { holds: true, checks };
  const problem = isComplete
    ? `a command could escape it: ${open.join(', ')}`
    : (stderr.trim().split('\n').at(-1) ?? '') || `it ended with exit code ${code}`;
  return { holds: false, checks, problem, isIncomplete: !isComplete };
}

/** The kernel had no process, memory or descriptor left; with permission it has nothing to do. */
export const isPassing = (said: string): boolean =>
  /Resource temporarily unavailable|Cannot allocate memory|Too many open files/.test(said);

/** Why namespaces are unavailable here, and how to enable them. */
export function fixFor(problem: string): string {
  const says = (path: string, value: string): boolean => readText(path).trim() === value;
  if (isInContainer()) {
    return 'Inside a container: start it with a seccomp profile that allows user namespaces (Docker: --security-opt seccomp=<profile>), or say that the container is the sandbox with security.sandbox = "container".';
  }
  if (says('/proc/sys/kernel/apparmor_restrict_unprivileged_userns', '1')) {
    return 'AppArmor keeps user namespaces from bubblewrap (Ubuntu 23.10 and newer): sudo apt-get install apparmor-profiles && sudo ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && sudo systemctl reload apparmor; or, for all programs, sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0.';
  }
  if (says('/proc/sys/kernel/unprivileged_userns_clone', '0'))
    return 'User namespaces are off: sudo sysctl -w kernel.unprivileged_userns_clone=1.';
  if (says('/proc/sys/user/max_user_namespaces', '0'))
    return 'User namespaces are off: sudo sysctl -w user.max_user_namespaces=15000.';
  return `bubblewrap failed (${problem}); try it by hand: bwrap --ro-bind / / --unshare-user --unshare-pid --proc /proc true.`;
}

/** How a package is installed on this system. */
export function installCommand(name: string): string {
  const system = readText('/etc/os-release');
  const is = (...names: string[]): boolean =>
    names.some((id) => new RegExp(`^ID(?:_LIKE)?=.*\\b${id}\\b`, 'm').test(system));
  if (is('debian', 'ubuntu')) return `sudo apt-get install ${name}`;
  if (is('fedora', 'rhel', 'centos')) return `sudo dnf install ${name}`;
  if (is('arch')) return `sudo pacman -S ${name}`;
  if (is('alpine')) return `sudo apk add ${name}`;
  if (is('suse', 'opensuse')) return `sudo zypper install ${name}`;
  return `install the package ${name}`;
}

export function isInContainer(): boolean {
  if (existsSync('/.dockerenv') || existsSync('/run/.containerenv')) return true;
  if (/(?:docker|kubepods|containerd|libpod|lxc)/.test(readText('/proc/1/cgroup'))) return true;
  return /^\S+ \S+ \S+ \S+ \/ .* - overlay /m.test(readText('/proc/self/mountinfo'));
}
