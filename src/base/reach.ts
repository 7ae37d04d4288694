/** Where this user gets without capabilities, as in a sandbox: root has none there, and files of others are closed to it. */
import { accessSync, constants, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Whether the directory and all around it can be entered. */
export function canEnter(directory: string): boolean {
  const parent = dirname(directory);
  return (parent === directory || canEnter(parent)) && canSearch(directory);
}

/** Of the directory alone. An access list that names root is not seen. */
export function canSearch(directory: string): boolean {
  try {
    // For other users the kernel answers; for root it would answer with its capabilities.
    if (process.geteuid?.() !== 0) {
      accessSync(directory, constants.X_OK);
      return true;
    }
    const { mode, uid, gid } = statSync(directory);
    if (uid === 0) return (mode & constants.S_IXUSR) !== 0;
    const isInGroup = gid === process.getegid?.() || process.getgroups?.().includes(gid) === true;
    return (mode & (isInGroup ? constants.S_IXGRP : constants.S_IXOTH)) !== 0;
  } catch {
    return false;
  }
}
