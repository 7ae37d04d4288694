/** `mcp-shell-server doctor`: what works on this machine, and how to repair what does not. */
import { accessSync, constants, existsSync, type Stats, statfsSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import type { App } from '../app.ts';
import { errnoOf } from '../base/errors.ts';
import { FREE_SPACE } from '../base/files.ts';
import type { SecuritySettings, Settings } from '../base/settings.ts';
import { findStateDirectoryProblem } from '../base/state-directory.ts';
import { type LimitEnforcement, NOT_ENFORCED } from '../executions/executions.ts';
import { escapeText } from '../security/security.ts';
import { tryTerminal } from '../terminals/attach.ts';
import type { Machine } from './install/clients.ts';
import { foundClients, isInstalled } from './install/install.ts';
import { wrapText } from './paint.ts';
import { many } from './when.ts';

export interface Finding {
  readonly name: string;
  readonly state: 'good' | 'warning' | 'problem';
  /** What was found. */
  readonly text: string;
  /** What to do about it. */
  readonly fix?: string;
}

const good = (name: string, text: string): Finding => ({ name, state: 'good', text });
const warning = (name: string, text: string, fix: string): Finding => ({ name, state: 'warning', text, fix });
const problem = (name: string, text: string, fix: string): Finding => ({ name, state: 'problem', text, fix });

export async function examine(
  app: App,
  settings: Settings,
  { warnings, machine }: { readonly warnings: readonly string[]; readonly machine: Machine },
): Promise<Finding[]> {
  const path = await app.commandPath();
  return [
    good('node', `${process.version} on ${process.platform} ${process.arch}`),
    shell(app),
    shells(path),
    await sandbox(app),
    await terminals(settings),
    ...(await limits(app, settings)),
    root(),
    stateDirectory(settings),
    ...pathOf(path),
    ...settingsOf(settings, warnings),
    ...clients(machine),
  ];
}

function shell({ facts }: App): Finding {
  if (existsSync(facts.shell)) return good('shell', facts.shell);
  const fix = 'Select another one with --shell, or with the setting "shell".';
  return problem('shell', `${facts.shell} does not exist`, fix);
}

/** Those that commands and terminals can be given. */
const SHELLS = ['bash', 'zsh', 'fish', 'sh', 'dash', 'ksh', 'pwsh'];

function shells(path: string): Finding {
  const there = SHELLS.filter((name) =>
    path.split(':').some((directory) => existsSync(join(directory, name))),
  );
  const text = there.join(', ') || 'none';
  if (there.includes('bash')) return good('shells', text);
  return problem('shells', text, 'Install bash: under an allow-list, commands run only in bash.');
}

/** What commands must not be able to do, by the names of the probe. */
const CHECKED: Readonly<Record<string, string>> = {
  write: 'writes outside',
  kernel: 'kernel settings',
  processes: 'foreign processes',
  privileges: 'privileges',
};

async function sandbox(app: App): Promise<Finding> {
  const { kind, summary, refuses, fix, checks, openNetwork } = await app.sandbox();
  const verified = Object.entries(checks ?? {}).map(([name, holds]) =>
    holds ? `no ${CHECKED[name] ?? name}` : `OPEN: ${CHECKED[name] ?? name}`,
  );
  const text = verified.length === 0 ? summary : `${summary}; verified from inside: ${verified.join(', ')}`;
  const isDoubtful = kind === 'none' || openNetwork !== undefined;
  const state = refuses === true ? 'problem' : isDoubtful ? 'warning' : 'good';
  return { name: 'sandbox', state, text, ...(fix !== undefined && { fix }) };
}

async function terminals({ security }: Settings): Promise<Finding> {
  const name = 'terminals';
  if (!security.hasTerminals) return good(name, `unavailable with the preset ${security.preset}`);
  const why = await tryTerminal();
  if (why === undefined) return good(name, 'a pseudo-terminal was opened and read');
  const fix =
    'Install with optional packages (npm install), on a system that node-pty is built for, with /dev/pts mounted.';
  return problem(name, `no pseudo-terminal can be opened: ${why}`, fix);
}

/** Warns about limits that are set but not enforced. */
async function limits(app: App, { security }: Settings): Promise<Finding[]> {
  const enforcement = await app.limitEnforcement();
  return LIMITS.map(({ name: limit, setting, fix }) => {
    const name = `limit ${limit}`;
    if (enforcement[limit] !== NOT_ENFORCED) return good(name, `enforced by: ${enforcement[limit]}`);
    if (security[setting] === undefined) return good(name, `${NOT_ENFORCED}; no limit is set`);
    return warning(name, NOT_ENFORCED, fix);
  });
}

const GROUPS =
  'It requires a cgroup in which this server may create groups: with systemd, run `loginctl enable-linger`, or start it with `systemd-run --user --scope -p Delegate=yes`';

const LIMITS: readonly {
  readonly name: keyof LimitEnforcement;
  readonly setting: keyof SecuritySettings;
  readonly fix: string;
}[] = [
  { name: 'memory', setting: 'maxMemoryBytes', fix: `${GROUPS}.` },
  {
    name: 'processes',
    setting: 'maxPids',
    fix: `${GROUPS}; or the sandbox, an ordinary user and /usr/bin/prlimit.`,
  },
  { name: 'cpu_share', setting: 'maxCpuPercent', fix: `${GROUPS}.` },
  { name: 'cpu_time', setting: 'maxCpuSeconds', fix: `${GROUPS}.` },
  { name: 'file_size', setting: 'maxFileBytes', fix: 'It requires /usr/bin/prlimit (util-linux).' },
  {
    name: 'tmp_size',
    setting: 'maxTmpBytes',
    fix: 'It requires the sandbox with a /tmp in memory: another preset than development.',
  },
];

function root(): Finding {
  if (process.getuid?.() !== 0) return good('user', 'not root');
  const fix = 'Run it as an ordinary user: that adds another layer of protection.';
  return warning('user', 'the server runs as root', fix);
}

/** Less than a command with a little output needs. */
const NO_SPACE_BYTES = 1024 * 1024;
/** Fewer than a server and its first command make. */
const NO_SPACE_FILES = 32;

export function stateDirectory({ stateDir }: Pick<Settings, 'stateDir'>): Finding {
  const nearest = ((): string => {
    for (let path = stateDir; ; path = dirname(path))
      if (existsSync(path) || path === dirname(path)) return path;
  })();
  try {
    const found = findStateDirectoryProblem(stateDir);
    if (found !== undefined) return problem('state', found.message, found.hint);
    accessSync(nearest, constants.W_OK);
    const { bavail, bsize, files, ffree } = statfsSync(nearest);
    if (bavail * bsize < NO_SPACE_BYTES)
      return problem('state', `the disk of ${stateDir} has no space left`, FREE_SPACE);
    // A file system without a fixed number of inodes (btrfs) says that it has none at all.
    if (files > 0 && ffree < NO_SPACE_FILES)
      return problem('state', `the disk of ${stateDir} has no room for more files (inodes)`, FREE_SPACE);
    if (nearest === stateDir && (statSync(stateDir).mode & 0o077) !== 0)
      return problem('state', `${stateDir} can be read by others`, `chmod 700 ${stateDir}`);
    return good('state', stateDir);
  } catch {
    return problem('state', `${stateDir} cannot be written to`, 'Name another one with --state-dir.');
  }
}

/** A directory on PATH in which others can write decides what `git` is. */
export function pathOf(path: string): Finding[] {
  const doubts = [...new Set(path.split(':'))].map((directory): Finding | undefined => {
    if (!isAbsolute(directory)) {
      const fix = 'Remove it from PATH: its meaning depends on the working directory.';
      return warning('path', `${directory} is not an absolute path`, fix);
    }
    const about = lookAt(directory);
    if (about instanceof Error) {
      const text = `${directory} cannot be read: ${about.message}`;
      return warning('path', text, 'Remove it from PATH, or make it readable.');
    }
    if (about === undefined || (about.mode & 0o002) === 0) return undefined;
    return problem('path', `${directory} is writable by all users`, `chmod o-w ${directory}`);
  });
  return [good('path', path), ...doubts.filter((finding) => finding !== undefined)];
}

/** Behind a directory that nobody may enter, in a loop of links, or too long: nothing that ends the examination. */
function lookAt(directory: string): Stats | Error | undefined {
  try {
    return statSync(directory, { throwIfNoEntry: false });
  } catch (error) {
    // Below a file there is nothing; newer versions of Node say so themselves.
    return errnoOf(error) === 'ENOTDIR' ? undefined : (error as Error);
  }
}

/** Whether the clients on this machine know of this server. */
function clients(machine: Machine): Finding[] {
  const found = foundClients(machine);
  if (found.length === 0) return [good('clients', 'none found')];
  return found.map((client): Finding => {
    const name = `client ${client.id}`;
    const file = client.file(machine);
    if (isInstalled(client, machine)) return good(name, `installed in ${client.title}: ${file}`);
    const fix = `mcp-shell-server install ${client.id}`;
    return { ...good(name, `not installed in ${client.title}: ${file}`), fix };
  });
}

function settingsOf({ files, security }: Settings, warnings: readonly string[]): Finding[] {
  const where = files.length === 0 ? 'no file, defaults' : files.join(', ');
  return [
    good('settings', `${where}; preset ${security.preset}, workspace ${security.workspace.join(', ')}`),
    ...warnings.map((text): Finding => ({ name: 'settings', state: 'warning', text })),
  ];
}

const MARKS = { good: 'ok', warning: 'warn', problem: 'BAD' } as const;
/** Longer lines are hard to read, however wide the window is. */
const MAX_WIDTH = 100;

/** The state, the name, and the text beside it; for a terminal in lines that fit. */
export function renderFindings(findings: readonly Finding[], columns = Infinity): string {
  const width = columns === Infinity ? columns : Math.min(MAX_WIDTH, Math.max(columns, 60));
  const nameWidth = Math.max(...findings.map(({ name }) => name.length));
  const before = ' '.repeat('warn'.length + nameWidth + 4);
  const beside = (text: string, first: string): string[] =>
    wrapText(escapeText(text), width - before.length).map((line, at) => (at === 0 ? first : before) + line);
  const lines = findings.flatMap(({ name, state, text, fix }) => [
    ...beside(text, `${MARKS[state].padEnd(4)}  ${name.padEnd(nameWidth)}  `),
    ...(fix === undefined ? [] : beside(`-> ${fix}`, before)),
  ]);
  const bad = findings.filter(({ state }) => state === 'problem').length;
  const unsure = findings.filter(({ state }) => state === 'warning').length;
  return `${lines.join('\n')}\n\n${many(bad, 'problem')}, ${many(unsure, 'warning')}\n`;
}
