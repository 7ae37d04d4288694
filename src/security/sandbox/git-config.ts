/** What a git configuration names that git executes or obeys: hooks elsewhere, further configuration, programs. */
import { basename, dirname, join } from 'node:path';
import { attempt } from '../../base/attempt.ts';
import { isInside, realPathOf } from '../../base/config/paths.ts';
import { list, setOf } from '../list.ts';
import { type ConfigEntry, parseGitConfig } from './git-config-text.ts';
import { type LookBudget, linksTo } from './git-find.ts';
import { type CommandContext, locate, namedByCommand } from './git-programs.ts';
import { isThere, kindOf, lookAt, MAX_PATH, readPlainFile } from './host-files.ts';
import { placesOf } from './moved.ts';

/** What may still be read and looked at of the configurations of a workspace. */
export interface ConfigBudget extends LookBudget {
  bytes: number;
}

/** A tenth of a second: four hundred repositories that name a file each take less. */
const MAX_STEPS = 10_000;
/** Of those that were not read before. */
const MAX_BYTES = 4 * 1024 * 1024;
/** The largest that is read; one with ten thousand branches is smaller. */
const MAX_FILE_BYTES = 1024 * 1024;
/** Of what is kept of one file; a few hundred long aliases are less. */
const MAX_KEPT_CHARACTERS = 128 * 1024;
/** What an entry takes besides its value. */
const ENTRY_CHARACTERS = 64;
/** Of one repository. Nobody includes more. */
const MAX_FILES = 100;
/** What is named is looked at again for mounts, and when a command ends. */
const NAMED_STEPS = 10;

export const createConfigBudget = (): ConfigBudget => ({
  steps: MAX_STEPS,
  bytes: MAX_BYTES,
  links: new Map(),
});

/** Programs that git starts, and those of extensions that are called as git's own commands are, by section and key. */
const PROGRAMS =
  /^(?:core\.(?:fsmonitor|sshcommand|gitproxy|askpass|editor|pager|attributesfile|alternaterefscommand)|sequence\.editor|pager\..*|alias\..*|diff\.(?:external|command|textconv)|(?:difftool|mergetool|browser|man)\.(?:cmd|path)|merge\.driver|filter\.(?:clean|smudge|process)|credential\.helper|gpg\.(?:program|defaultkeycommand)|submodule\.update|interactive\.difffilter|remote\.(?:uploadpack|receivepack)|uploadpack\.packobjectshook|trailer\.(?:command|cmd)|hook\.command|tar\.command|lfs\.(?:path|args|clean|smudge)|svn\.authorsprog|core\.virtualfilesystem|guitool\.cmd|imap\.tunnel|instaweb\.(?:httpd|browser)|sendemail\.(?:sendmailcmd|smtpserver|tocmd|cccmd|headercmd))$/;

/** With an address of this kind a program is started. */
const TRANSPORT = /^ext::(.*)$/s;
const ADDRESSES =
  /^(?:(?:remote|submodule)\.(?:push)?url|branch\.(?:push)?remote|remote\.pushdefault|url\.(?:push)?insteadof)$/;
const PATHS = setOf('include.path includeif.path init.templatedir core.hookspath core.worktree');

const HOOKS = list(`
  applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit
  pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update
  reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman
  post-index-change p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit
`);

export interface ConfigContext extends CommandContext {
  /** Variables may have the user's configuration elsewhere. */
  readonly environment: Readonly<Record<string, string>>;
  readonly budget: ConfigBudget;
  config(file: string, budget: ConfigBudget): ReadConfig;
}

export interface ReadConfig {
  /** Those that may name something. */
  readonly entries: readonly ConfigEntry[];
  /** There are no others. */
  readonly isWhole: boolean;
}

export interface NamedByConfig {
  /** May be missing, and may be anywhere. */
  readonly paths: readonly string[];
  /** The symbolic links on the way to them. */
  readonly links: readonly string[];
  /** There is nothing else. */
  readonly isWhole: boolean;
}

/** By that of one repository, with what holds for all of the user's. */
export function namedByConfig(git: string, context: ConfigContext): NamedByConfig {
  const { home, environment } = context;
  const users = [
    ...['.gitconfig', '.config/git/config'].flatMap((name) => placesOf(name, home, environment)),
    environment['GIT_CONFIG_SYSTEM'] ?? '/etc/gitconfig',
  ].filter(isThere);
  const own = [join(git, 'config'), join(git, 'config.worktree')].filter(isThere);
  // A dotfiles repository has them elsewhere.
  const linked = users.filter((file) => kindOf(file) === 'link').map(realPathOf);
  // What the user has is the same for each repository, and must not leave less for what a command could have written.
  const budget = { ...createConfigBudget(), links: context.budget.links };
  const named = [follow(users, { ...context, budget }), follow(own, context)];
  return {
    paths: [...new Set([...linked, ...named.flatMap(({ paths }) => paths)])],
    links: [...new Set(named.flatMap(({ links }) => links))],
    isWhole: named.every(({ isWhole }) => isWhole),
  };
}

/** Each file once, whatever includes it: a few that include each other would be read for ever. */
function follow(files: readonly string[], context: ConfigContext): NamedByConfig {
  const { budget } = context;
  const paths = new Set<string>();
  const links = new Set<string>();
  // By the name by which it is included, which is what relative paths in it are relative to.
  const queue = new Set(files);
  let isWhole = true;
  const add = (path: string): void => {
    if (paths.has(path) || budget.steps < 0) return;
    paths.add(path);
    const onTheWay = linksTo(path, budget);
    for (const link of onTheWay) links.add(link);
    // Each of them is followed again by whatever looks at the path.
    budget.steps -= (1 + onTheWay.length) * NAMED_STEPS;
  };
  for (const file of queue) {
    if (budget.steps < 0) break;
    const { entries, isWhole: isAll } = context.config(realPathOf(file), budget);
    isWhole &&= isAll;
    for (const entry of entries) {
      budget.steps -= entry.value.split('/').length;
      if (budget.steps < 0) break;
      if (!isInclude(entry)) for (const path of namedBy(entry, context)) add(path);
      else if (entry.value.length <= MAX_PATH) {
        const included = locate(entry.value, dirname(file), context.home);
        add(included);
        if (queue.size < MAX_FILES) queue.add(included);
        else isWhole &&= queue.has(included);
      }
    }
  }
  return { paths: [...paths], links: [...links], isWhole: isWhole && budget.steps >= 0 };
}

const isInclude = ({ section, key }: ConfigEntry): boolean =>
  /^include(?:if)?$/.test(section) && key === 'path';

function namedBy({ section, subsection = '', key, value }: ConfigEntry, context: ConfigContext): string[] {
  const { workTree, home, budget } = context;
  const name = `${section}.${key}`;
  if (PROGRAMS.test(name)) return namedByCommand(value, context);
  const [, command] = TRANSPORT.exec(section === 'url' ? subsection : value) ?? [];
  if (ADDRESSES.test(name)) return command === undefined ? [] : namedByCommand(command, context);
  if (value.length > MAX_PATH) return [];
  // Git passes over one that is not there.
  const path = locate(value.replace(/^:\(optional\)/, ''), workTree, home);
  if (name === 'init.templatedir') return [join(path, 'hooks')];
  if (name !== 'core.hookspath') return [];
  budget.steps -= NAMED_STEPS;
  return hooksAt(path, workTree);
}

function hooksAt(path: string, workTree: string): string[] {
  // Husky has scripts in "_" that run those beside it.
  const hooks = basename(path) === '_' ? dirname(path) : path;
  return isInside(workTree, hooks) ? HOOKS.map((name) => join(hooks, name)) : [hooks];
}

/** Nothing where it cannot be read: git cannot either. */
export function readGitConfig(file: string, budget: ConfigBudget): ReadConfig {
  const about = lookAt(file);
  if (about?.isFile() !== true) return { entries: [], isWhole: true };
  if (about.size > Math.min(MAX_FILE_BYTES, budget.bytes)) return { entries: [], isWhole: false };
  budget.bytes -= about.size;
  const text = attempt(() => readPlainFile(file, MAX_FILE_BYTES)) ?? '';
  const entries = parseGitConfig(text)
    .flatMap(({ older, ...entry }) => (older === undefined ? [entry] : [entry, { ...entry, value: older }]))
    .filter(mayName);
  const length = entries.reduce((sum, { value }) => sum + value.length + ENTRY_CHARACTERS, 0);
  return length > MAX_KEPT_CHARACTERS ? { entries: [], isWhole: false } : { entries, isWhole: true };
}

function mayName({ section, subsection = '', key, value }: ConfigEntry): boolean {
  if (value === '') return false;
  const name = `${section}.${key}`;
  if (ADDRESSES.test(name)) return TRANSPORT.test(section === 'url' ? subsection : value);
  return PATHS.has(name) || PROGRAMS.test(name);
}
