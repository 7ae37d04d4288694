/** Who the server runs as. A container may give it a number that no user database knows. */
import { homedir, userInfo } from 'node:os';

export interface User {
  readonly username: string;
  readonly homedir: string;
  readonly uid: number;
}

export function currentUser(): User {
  try {
    const { username, homedir: home, uid } = userInfo();
    return { username, homedir: home, uid };
  } catch {
    const uid = process.getuid?.() ?? -1;
    return { username: String(uid), homedir: homedir(), uid };
  }
}
