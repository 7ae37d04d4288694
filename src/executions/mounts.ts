/** The kernel's table of mounts, and whether it shows what was meant. */
import { readFileSync } from 'node:fs';
import type { BubblewrapSpec } from '../security/security.ts';

interface MountEntry {
  /** What of its file system is seen at the mount point: a container may be shown its own part only. */
  readonly root: string;
  readonly point: string;
  readonly type: string;
  readonly device: string;
  /** Of the file system. */
  readonly options: string;
}

/** The first mount point that shows something else than it should; null while mounts are still being made. */
export function findUnexpectedMount(
  table: string,
  { pinned }: Pick<BubblewrapSpec, 'pinned'>,
  own: string = readFileSync('/proc/self/mountinfo', 'utf8'),
): string | null | undefined {
  // A later entry covers an earlier one of the same place.
  const inside = new Map(parseMounts(table).map((entry) => [entry.point, entry]));
  const outside = parseMounts(own);
  // bwrap moves to its new root when all is mounted; until then ours is there, or none.
  const proc = inside.get('/proc');
  if (proc === undefined || outside.some(({ point, device }) => point === '/proc' && device === proc.device))
    return null;
  const wrong = pinned.find(({ path, source }) => {
    const found = inside.get(path);
    if (found === undefined) return true;
    if (source === undefined) return found.type !== 'tmpfs' && found.root !== '/null';
    const expected = placeOf(source, outside);
    return expected === undefined || found.root !== expected.root || found.device !== expected.device;
  });
  return wrong?.path;
}

/**
 * The first place where bwrap was to mount something and nothing is, or something that has been moved or removed since.
 */
export function findExchangedMount(
  table: string,
  { options }: Pick<BubblewrapSpec, 'options'>,
  own: string = readFileSync('/proc/self/mountinfo', 'utf8'),
): string | undefined {
  const inside = new Map(parseMounts(table).map((entry) => [entry.point, entry]));
  const outside = parseMounts(own);
  return options.find((path, at) => {
    const [kind, source = ''] = [options[at - 2], options[at - 1]];
    const isBound = kind === '--bind' || kind === '--ro-bind';
    if (!isBound && source !== '--tmpfs') return false;
    const found = inside.get(path);
    if (found === undefined || found.root.endsWith('//deleted')) return true;
    if (kind !== '--bind') return false;
    const expected = placeOf(source, outside);
    return expected?.root !== found.root || expected.device !== found.device;
  });
}

/** Where a path lies on its file system. */
function placeOf(path: string, mounts: readonly MountEntry[]): { root: string; device: string } | undefined {
  let best: MountEntry | undefined;
  for (const entry of mounts) {
    const covers = entry.point === '/' || path === entry.point || path.startsWith(`${entry.point}/`);
    if (covers && (best === undefined || entry.point.length >= best.point.length)) best = entry;
  }
  if (best === undefined) return undefined;
  const rest = best.point === '/' ? path : path.slice(best.point.length);
  const root = best.root === '/' ? rest || '/' : `${best.root}${rest}`;
  return { root: root === '' ? '/' : root, device: best.device };
}

export function parseMounts(table: string): MountEntry[] {
  const entries: MountEntry[] = [];
  for (const line of table.split('\n')) {
    // 36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw
    const [, , device, root, point] = line.split(' ', 5);
    const separator = line.indexOf(' - ');
    if (device === undefined || root === undefined || point === undefined || separator === -1) continue;
    const end = line.indexOf(' ', separator + 3);
    const type = line.slice(separator + 3, end === -1 ? undefined : end);
    const options = line.slice(line.lastIndexOf(' ') + 1);
    entries.push({ root: unescape(root), point: unescape(point), type, device, options });
  }
  return entries;
}

/** Spaces and the like are written as \040, byte by byte. */
function unescape(text: string): string {
  if (!text.includes('\\')) return text;
  const bytes = Buffer.from(text)
    .toString('latin1')
    .replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
