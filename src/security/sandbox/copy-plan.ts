/**
 * How a sandbox that stands is copied for a command: its mount namespace as it is, and mounted anew whatever a command
 * must not share with another one. Read from the options that bwrap got. Pure: data in, data out.
 */

/** source, target, type, flags and data, as mount(2) takes them. */
export type MountCall = readonly [string, string, string, number, string];

export interface CopyPlan {
  /** Of the original: nothing in it that all copies share can be written, and each can have a user namespace. */
  readonly options: readonly string[];
  readonly mounts: readonly MountCall[];
  readonly hasNetwork: boolean;
  /** The command can make no other one. */
  readonly isLastUserNamespace: boolean;
}

const [RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND] = [1, 2, 4, 8, 32, 4096];

/** What bwrap covers by itself, since root could write there. */
const COVERED_IN_PROC = ['sys', 'sysrq-trigger', 'irq', 'bus'];

const LAST_USER_NAMESPACE = '--disable-userns';

/** Undefined where it cannot be copied. `exists` is asked about files of /proc. */
export function planCopy(
  options: readonly string[],
  exists: (path: string) => boolean,
): CopyPlan | undefined {
  const steps = parse(options);
  const isBelow = (path: string, top: string): boolean => path === top || path.startsWith(`${top}/`);
  const proc = steps.find(({ kind }) => kind === '--proc')?.path;
  const dev = steps.find(({ kind }) => kind === '--dev')?.path;
  if (proc === undefined || dev === undefined) return undefined;
  const mounts: MountCall[] = [
    ['proc', proc, 'proc', NOSUID | NODEV | NOEXEC, ''],
    ...COVERED_IN_PROC.map((name) => `${proc}/${name}`)
      .filter((path) => exists(path) && !steps.some((step) => step.path === path))
      .flatMap((path) => readOnly(path, path)),
    ['devpts', `${dev}/pts`, 'devpts', NOSUID | NOEXEC, 'newinstance,ptmxmode=0666,mode=620'],
  ];
  const remounted: string[] = [];
  for (const [at, { kind, path, source, perms, size }] of steps.entries()) {
    const later = steps.slice(at + 1);
    const isInProc = path !== proc && isBelow(path, proc);
    if (kind === '--tmpfs') {
      const isEmpty = perms === '0555';
      if (isInProc || !isEmpty) {
        // What lies in it would be covered.
        if (later.some((other) => other.kind !== '--remount-ro' && isBelow(other.path, path)))
          return undefined;
        const data = [`mode=${perms ?? '0755'}`, ...(size === undefined ? [] : [`size=${size}`])].join(',');
        mounts.push(['tmpfs', path, 'tmpfs', NOSUID | NODEV | (isEmpty ? RDONLY : 0), data]);
      } else if (!later.some((other) => other.path === path)) remounted.push(path);
    } else if (isInProc) {
      if (kind !== '--ro-bind') return undefined;
      mounts.push(...readOnly(source, path));
    }
  }
  return {
    options: [
      ...options.filter((option) => option !== LAST_USER_NAMESPACE),
      ...remounted.flatMap((path) => ['--remount-ro', path]),
    ],
    mounts,
    hasNetwork: !options.includes('--unshare-net'),
    isLastUserNamespace: options.includes(LAST_USER_NAMESPACE),
  };
}

function readOnly(source: string, target: string): MountCall[] {
  return [
    [source, target, '', BIND, ''],
    ['', target, '', BIND | REMOUNT | RDONLY | NOSUID | NODEV | NOEXEC, ''],
  ];
}

interface Step {
  readonly kind: string;
  readonly path: string;
  readonly source: string;
  readonly perms?: string | undefined;
  readonly size?: string | undefined;
}

const WITH_SOURCE = new Set(['--bind', '--ro-bind', '--symlink', '--file']);
const WITH_PATH = new Set(['--proc', '--dev', '--tmpfs', '--remount-ro']);
const WITH_VALUE = new Set(['--perms', '--size', '--seccomp', '--cap-drop']);

/** Those that put something somewhere, in order. */
function parse(options: readonly string[]): Step[] {
  const steps: Step[] = [];
  let perms: string | undefined;
  let size: string | undefined;
  for (let at = 0; at < options.length; ) {
    const [kind = '', first = '', second = ''] = options.slice(at, at + 3);
    at += WITH_SOURCE.has(kind) ? 3 : WITH_PATH.has(kind) || WITH_VALUE.has(kind) ? 2 : 1;
    if (kind === '--perms') perms = first;
    else if (kind === '--size') size = first;
    else if (WITH_SOURCE.has(kind)) steps.push({ kind, source: first, path: second });
    else if (WITH_PATH.has(kind)) {
      steps.push({ kind, source: '', path: first, perms, size });
      perms = size = undefined;
    }
  }
  return steps;
}

/**
 * Whether a copy shows exactly what its original shows, and besides what was mounted anew. Both as mountinfo has them.
 * Copies list their mounts in one order, so that most are recognised by the last one.
 */
export function createComparison(mounts: readonly MountCall[]): (original: string, copy: string) => boolean {
  let known: { readonly original: string; readonly lines: readonly Line[] } | undefined;
  return (original, copy) => {
    if (known?.original === original && hasLines(copy, known.lines)) return true;
    const made = findMade(original, copy, mounts);
    if (made === undefined) return false;
    const before = linesOf(withoutNumbers(original));
    const lines = linesOf(withoutNumbers(copy)).map((text): Line => {
      const isMade = made.includes(text) && !before.includes(text);
      return { text: `${isMade ? text.slice(text.indexOf(' ')) : text}\n`, isMade };
    });
    known = { original, lines };
    return true;
  };
}

interface Line {
  /** Without its numbers; of a mount that was made anew, without its device. */
  readonly text: string;
  readonly isMade: boolean;
}

function hasLines(table: string, lines: readonly Line[]): boolean {
  let at = 0;
  for (const { text, isMade } of lines) {
    at = table.indexOf(' ', table.indexOf(' ', at) + 1) + 1;
    if (isMade) at = table.indexOf(' ', at);
    if (!table.startsWith(text, at)) return false;
    at += text.length;
  }
  return at === table.length;
}

/** The lines of the mounts that were made anew; undefined where the copy differs in others. */
function findMade(original: string, copy: string, mounts: readonly MountCall[]): string[] | undefined {
  const made = mounts.filter(([, , , flags]) => (flags & REMOUNT) === 0);
  const rest = differenceOf(withoutNumbers(copy), withoutNumbers(original));
  const isFound = ([, target, type]: MountCall): boolean =>
    rest?.some(
      (line) => line.split(' ', 3)[2] === target && (type === '' || line.includes(` - ${type} `)),
    ) === true;
  return rest?.length === made.length && made.every(isFound) ? rest : undefined;
}

/** The lines of the first that are not in the second; undefined where it lacks one. */
function differenceOf(all: string, some: string): string[] | undefined {
  // In the order in which they were mounted, where the kernel lists them so.
  if (all.startsWith(some)) return linesOf(all.slice(some.length));
  const rest = linesOf(all);
  for (const line of linesOf(some)) {
    const at = rest.indexOf(line);
    if (at === -1) return undefined;
    rest.splice(at, 1);
  }
  return rest;
}

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');

/** Each mount has a number of its own, and its parent's. */
const withoutNumbers = (table: string): string => table.replaceAll(/^\d+ \d+ /gm, '');
