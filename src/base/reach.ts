/** Where this user gets without capabilities, as behind a wall: root has none there, and files of others are closed to it. */
import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Whether the directory and all around it can be entered. */
export function canEnter(directory: string): boolean {
  try {
    // Everybody else is told by the kernel; root would be told of what it can do with its capabilities.
    if (process.getuid?.() !== 0) {
      accessSync(directory, constants.X_OK);
      return true;
    }
    for (let path = directory; ; path = dirname(path)) {
      if (!canSearch(statSync(path))) return false;
      if (path === dirname(path)) return true;
    }
  } catch {
    return false;
  }
}

function canSearch({ mode, uid, gid }: Stats): boolean {
  if (uid === 0) return (mode & 0o100) !== 0;
  const isOurs = gid === process.getgid?.() || process.getgroups?.().includes(gid) === true;
  return (mode & (isOurs ? 0o010 : 0o001)) !== 0;
}
