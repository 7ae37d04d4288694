/** Who the server runs as. A container may give it a number that no user database knows. */
import { homedir, userInfo } from 'node:os';
import { once } from './once.ts';

export interface User {
  readonly username: string;
  readonly homedir: string;
  readonly uid: number;
  /** Of the primary group. */
  readonly gid: number;
}

/** Looked up once: it is asked for with every command, and a process does not change who it is. */
export const currentUser: () => User = once(() => {
  try {
    const { username, homedir: home, uid, gid } = userInfo();
    return { username, homedir: home, uid, gid };
  } catch {
    const uid = process.getuid?.() ?? -1;
    return { username: String(uid), homedir: homedir(), uid, gid: process.getgid?.() ?? -1 };
  }
});
