/** `mcp-shell-server doctor`: what works on this machine, and how to repair what does not. */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { App } from '../app.ts';
import type { Settings } from '../base/settings.ts';

export interface Finding {
  readonly name: string;
  readonly state: 'good' | 'warning' | 'problem';
  /** What was found. */
  readonly text: string;
  /** What to do about it. */
  readonly fix?: string;
}

export async function examine(app: App, settings: Settings, warnings: readonly string[]): Promise<Finding[]> {
  return [
    { name: 'node', state: 'good', text: `${process.version} on ${process.platform} ${process.arch}` },
    shell(app),
    await sandbox(app, settings),
    ...limits(app),
    root(),
    stateDirectory(settings),
    { name: 'path', state: 'good', text: await app.commandPath() },
    ...settingsOf(settings, warnings),
  ];
}

function shell({ facts }: App): Finding {
  if (existsSync(facts.shell)) return { name: 'shell', state: 'good', text: facts.shell };
  const fix = 'Name another one with --shell, or in the setting "shell".';
  return { name: 'shell', state: 'problem', text: `${facts.shell} is not there`, fix };
}

async function sandbox(app: App, { security }: Settings): Promise<Finding> {
  const { kind, summary, problem, fix, checks } = await app.sandbox();
  const tried = Object.entries(checks ?? {}).map(([name, holds]) => `${name} ${holds ? 'shut' : 'OPEN'}`);
  const text = tried.length === 0 ? summary : `${summary}; tried from inside: ${tried.join(', ')}`;
  const state =
    kind === 'none'
      ? security.sandbox === 'required'
        ? 'problem'
        : 'warning'
      : problem === undefined
        ? 'good'
        : 'problem';
  return { name: 'sandbox', state, text, ...(problem !== undefined && fix !== undefined && { fix }) };
}

/** A limit that nobody keeps is a promise that is not kept. */
function limits(app: App): Finding[] {
  return Object.entries(app.limitKeepers()).map(([name, keeper]) => ({
    name: `limit ${name}`,
    state: keeper === 'nobody' ? 'warning' : 'good',
    text: `kept by: ${keeper}`,
    ...(keeper === 'nobody' && { fix: 'It needs a cgroup that this server may create groups in.' }),
  }));
}

function root(): Finding {
  if (process.getuid?.() !== 0) return { name: 'user', state: 'good', text: 'not root' };
  const fix = 'Start it as an ordinary user: one wall more would then have to be got past.';
  return { name: 'user', state: 'warning', text: 'the server runs as root', fix };
}

function stateDirectory({ stateDir }: Settings): Finding {
  const nearest = ((): string => {
    for (let path = stateDir; ; path = dirname(path))
      if (existsSync(path) || path === dirname(path)) return path;
  })();
  try {
    accessSync(nearest, constants.W_OK);
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

function settingsOf({ files, security }: Settings, warnings: readonly string[]): Finding[] {
  const where = files.length === 0 ? 'no file, defaults' : files.join(', ');
  const text = `${where}; preset ${security.preset}, workspace ${security.workspace.join(', ')}`;
  return [
    { name: 'settings', state: 'good', text },
    ...warnings.map((warning): Finding => ({ name: 'settings', state: 'warning', text: warning })),
  ];
}

const MARKS = { good: 'ok  ', warning: 'warn', problem: 'BAD ' } as const;

export function renderFindings(findings: readonly Finding[]): string {
  const lines = findings.flatMap(({ name, state, text, fix }) => [
    `${MARKS[state]} ${name}: ${text}`,
    ...(fix === undefined ? [] : [`       ${fix}`]),
  ]);
  const bad = findings.filter(({ state }) => state === 'problem').length;
  const unsure = findings.filter(({ state }) => state === 'warning').length;
  return `${lines.join('\n')}\n\n${bad} problems, ${unsure} warnings\n`;
}
