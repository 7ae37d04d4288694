/**
 * The same profile in Seatbelt's language, for macOS. Pure, and never tried by the authors: it shuts off writing and
 * the network, and hides what is hidden; processes and memory have no sandbox there.
 */
import type { Mount, Profile } from './profile.ts';

/** What a program on macOS writes to that is nobody's file. */
const DEVICES = ['/dev/null', '/dev/zero', '/dev/tty', '/dev/dtracehelper', '/dev/stdout', '/dev/stderr'];

export function seatbeltProfile(profile: Profile): string {
  const lines = ['(version 1)', '(allow default)', '(deny file-write*)'];
  for (const device of DEVICES) lines.push(`(allow file-write* (literal ${quote(device)}))`);
  lines.push('(allow file-write* (regex #"^/dev/(ttys|fd/)"))');
  // In order: as with mounts, the last rule that matches decides.
  for (const mount of profile.mounts) lines.push(...ruleFor(mount));
  if (!profile.network) {
    lines.push('(deny network*)', '(allow network* (local unix-socket))', '(deny system-socket)');
  }
  lines.push('(deny process-info* (target others))', '(allow process-info* (target same-sandbox))');
  lines.push('(deny signal (target others))', '(allow signal (target same-sandbox))');
  return `${lines.join('\n')}\n`;
}

function ruleFor(mount: Mount): string[] {
  const where = `(subpath ${quote(mount.path)})`;
  switch (mount.kind) {
    case 'writable':
    case 'memory':
      // There is no mounting: the directory itself is written to.
      return [`(allow file-read* file-write* ${where})`];
    case 'readable':
      return mount.from === undefined || mount.from === mount.path
        ? [`(allow file-read* ${where})`, `(deny file-write* ${where})`]
        : [`(deny file-read* file-write* ${where})`];
    case 'empty':
    case 'blank':
      return [`(deny file-read* file-write* ${where})`];
    case 'link':
      return [];
  }
}

function quote(path: string): string {
  return `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
