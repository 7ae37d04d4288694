/** `mcp-shell-server doctor`: what works on this machine, and how to repair what does not. */
import { accessSync, constants, existsSync, type Stats, statfsSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import type { App } from '../app.ts';
import { errnoOf } from '../base/errors.ts';
import { FREE_SPACE } from '../base/files.ts';
import type { SecuritySettings, Settings } from '../base/settings.ts';
import { findStateDirectoryProblem } from '../base/state-directory.ts';
import { type LimitEnforcement, NOT_ENFORCED } from '../executions/executions.ts';
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

export async function examine(
  app: App,
  settings: Settings,
  { warnings, machine }: { readonly warnings: readonly string[]; readonly machine: Machine },
): Promise<Finding[]> {
  const path = await app.commandPath();
  return [
    { name: 'node', state: 'good', text: `${process.version} on ${process.platform} ${process.arch}` },
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
  if (existsSync(facts.shell)) return { name: 'shell', state: 'good', text: facts.shell };
  const fix = 'Select another one with --shell, or with the setting "shell".';
  return { name: 'shell', state: 'problem', text: `${facts.shell} does not exist`, fix };
}

/** Those that commands and terminals can be given. */
const SHELLS = ['bash', 'zsh', 'fish', 'sh', 'dash', 'ksh', 'pwsh'];

function shells(path: string): Finding {
  const there = SHELLS.filter((name) =>
    path.split(':').some((directory) => existsSync(join(directory, name))),
  );
  const text = there.join(', ') || 'none';
  if (there.includes('bash')) return { name: 'shells', state: 'good', text };
  const fix = 'Install bash: under an allow-list, commands run only in bash.';
  return { name: 'shells', state: 'problem', text, fix };
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
  if (!security.hasTerminals)
    return { name, state: 'good', text: `unavailable with the preset ${security.preset}` };
  const problem = await tryTerminal();
  if (problem === undefined) return { name, state: 'good', text: 'a pseudo-terminal was opened and read' };
  const fix =
    'Install with optional packages (npm install), on a system that node-pty is built for, with /dev/pts mounted.';
  return { name, state: 'problem', text: `no pseudo-terminal can be opened: ${problem}`, fix };
}

/** Warns about limits that are set but not enforced. */
async function limits(app: App, { security }: Settings): Promise<Finding[]> {
  const enforcement = await app.limitEnforcement();
  return LIMITS.map(({ name, setting, fix }): Finding => {
    const isEnforced = enforcement[name] !== NOT_ENFORCED;
    const text = isEnforced ? `enforced by: ${enforcement[name]}` : NOT_ENFORCED;
    if (isEnforced) return { name: `limit ${name}`, state: 'good', text };
    if (security[setting] === undefined)
      return { name: `limit ${name}`, state: 'good', text: `${text}; no limit is set` };
    return { name: `limit ${name}`, state: 'warning', text, fix };
  });
}

const GROUPS =
  'It requires a cgroup in which this server may create groups: with systemd, start it with `systemd-run --user --scope -p Delegate=yes`';

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
  if (process.getuid?.() !== 0) return { name: 'user', state: 'good', text: 'not root' };
  const fix = 'Run it as an ordinary user: that adds another layer of protection.';
  return { name: 'user', state: 'warning', text: 'the server runs as root', fix };
}

/** Less than a command with a little output needs. */
const NO_SPACE_BYTES = 1024 * 1024;

function stateDirectory({ stateDir }: Settings): Finding {
  const nearest = ((): string => {
    for (let path = stateDir; ; path = dirname(path))
      if (existsSync(path) || path === dirname(path)) return path;
  })();
  try {
    const problem = findStateDirectoryProblem(stateDir);
    if (problem !== undefined)
      return { name: 'state', state: 'problem', text: problem.message, fix: problem.hint };
    accessSync(nearest, constants.W_OK);
    const { bavail, bsize } = statfsSync(nearest);
    if (bavail * bsize < NO_SPACE_BYTES)
      return {
        name: 'state',
        state: 'problem',
        text: `the disk of ${stateDir} has no space left`,
        fix: FREE_SPACE,
      };
    if (nearest === stateDir && (statSync(stateDir).mode & 0o077) !== 0) {
      const fix = `chmod 700 ${stateDir}`;
      return { name: 'state', state: 'problem', text: `${stateDir} can be read by others`, fix };
    }
    return { name: 'state', state: 'good', text: stateDir };
  } catch {
    const fix = 'Name another one with --state-dir.';
    return { name: 'state', state: 'problem', text: `${stateDir} cannot be written to`, fix };
  }
}

/** A directory on PATH in which others can write decides what `git` is. */
export function pathOf(path: string): Finding[] {
  const findings: Finding[] = [{ name: 'path', state: 'good', text: path }];
  for (const directory of new Set(path.split(':'))) {
    const about = isAbsolute(directory) ? lookAt(directory) : undefined;
    if (about instanceof Error) {
      const fix = 'Remove it from PATH, or make it readable.';
      const text = `${directory} cannot be read: ${about.message}`;
      findings.push({ name: 'path', state: 'warning', text, fix });
    } else if (!isAbsolute(directory)) {
      const fix = 'Remove it from PATH: its meaning depends on the working directory.';
      findings.push({ name: 'path', state: 'warning', text: `${directory} is not an absolute path`, fix });
    } else if (about !== undefined && (about.mode & 0o002) !== 0) {
      const fix = `chmod o-w ${directory}`;
      findings.push({
        name: 'path',
        state: 'problem',
        text: `${directory} is writable by all users`,
        fix,
      });
    }
  }
  return findings;
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
  if (found.length === 0) return [{ name: 'clients', state: 'good', text: 'none found' }];
  return found.map((client): Finding => {
    const name = `client ${client.id}`;
    const file = client.file(machine);
    if (isInstalled(client, machine))
      return { name, state: 'good', text: `installed in ${client.title}: ${file}` };
    const text = `not installed in ${client.title}: ${file}`;
    return { name, state: 'good', text, fix: `mcp-shell-server install ${client.id}` };
  });
}

function settingsOf({ files, security }: Settings, warnings: readonly string[]): Finding[] {
  const where = files.length === 0 ? 'no file, defaults' : files.join(', ');
  const text = `${where}; preset ${security.preset}, workspace ${security.workspace.join(', ')}`;
  return [
    { name: 'settings', state: 'good', text },
    ...warnings.map((warning): Finding => ({ name: 'settings', state: 'warning', text: warning })),
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
    wrapText(text, width - before.length).map((line, at) => (at === 0 ? first : before) + line);
  const lines = findings.flatMap(({ name, state, text, fix }) => [
    ...beside(text, `${MARKS[state].padEnd(4)}  ${name.padEnd(nameWidth)}  `),
    ...(fix === undefined ? [] : beside(`-> ${fix}`, before)),
  ]);
  const bad = findings.filter(({ state }) => state === 'problem').length;
  const unsure = findings.filter(({ state }) => state === 'warning').length;
  return `${lines.join('\n')}\n\n${many(bad, 'problem')}, ${many(unsure, 'warning')}\n`;
}
