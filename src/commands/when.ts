/** Times and durations as people type and read them. */
import { ShellServerError } from '../base/errors.ts';

const UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** "2h" (so long ago), "2026-11-15", or "2026-11-15T10:00"; without a zone it is UTC, as in the log. */
export function parseWhen(option: string, text: string, nowMs: number): number {
  const ago = parseSpan(text);
  const ms = ago === undefined ? parseTime(text) : nowMs - ago;
  if (ms !== undefined) return ms;
  throw new ShellServerError('PARAM_002', `${option}: ${JSON.stringify(text)} is not a valid time.`, {
    hint: 'Write 90s, 30m, 2h, 7d or 2w (so long ago), 2026-11-15, or 2026-11-15T10:00.',
  });
}

/** Of `--since` and `--until`. */
export function rangeOf({ since, until }: { readonly since?: string; readonly until?: string }) {
  const nowMs = Date.now();
  return {
    sinceMs: since === undefined ? undefined : parseWhen('--since', since, nowMs),
    untilMs: until === undefined ? undefined : parseWhen('--until', until, nowMs),
  };
}

/** "2026-11-15" or "2026-11-15T10:00"; undefined where it is nothing of the kind. */
export function parseTime(text: string): number | undefined {
  const match = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?)?$/.exec(text);
  const [, day, clock = '00:00', zone = 'Z'] = match ?? [];
  const ms = Date.parse(`${day}T${clock}${zone}`);
  return match === null || Number.isNaN(ms) ? undefined : ms;
}

/** "36h" in milliseconds; undefined where it is nothing of the kind. */
export function parseSpan(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (UNITS[unit] ?? 0);
}

export function showSpan(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`;
  return `${Math.floor(ms / 86_400_000)} d ${Math.floor((ms % 86_400_000) / 3_600_000)} h`;
}

/** "2026-11-15 10:00:00Z". */
export function showTime(iso: string): string {
  return `${iso.slice(0, 19).replace('T', ' ')}Z`;
}

const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function showBytes(bytes: number): string {
  let size = bytes;
  let unit = 0;
  for (; size >= 1000 && unit < SIZES.length - 1; unit++) size /= 1024;
  const shown = unit === 0 || size >= 9.95 ? Math.round(size) : Number(size.toFixed(1));
  return `${shown} ${SIZES[unit]}`;
}

/** "1 file", "2 files". */
export const many = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** "12:05", "3:04:05" or "4d 03:00", for a column. */
export function showClock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (value: number): string => String(value).padStart(2, '0');
  const [days, hours] = [Math.floor(seconds / 86_400), Math.floor((seconds % 86_400) / 3600)];
  const [minutes, rest] = [Math.floor((seconds % 3600) / 60), seconds % 60];
  if (days > 0) return `${days}d ${two(hours)}:${two(minutes)}`;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}
