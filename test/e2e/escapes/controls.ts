/** What has to work in the sandbox: each prints "yes" as its last line. */
import type { PresetName } from '../../../src/base/config/presets.ts';
import { ALL_PRESETS, quoted } from './attempt.ts';

export interface Control {
  readonly name: string;
  readonly presets?: readonly PresetName[];
  /** Bash, run in an empty directory of the workspace. */
  readonly script: string;
}

const py = (code: string): string => `/usr/bin/python3 -I -c ${quoted(code)}`;
const GIT = 'git -c user.name=a -c user.email=a@example.com -c init.defaultBranch=main';

export const CONTROLS: readonly Control[] = [
  {
    name: 'writing in the workspace',
    presets: ALL_PRESETS,
    script: 'echo text > f; [ "$(<f)" = text ] && echo yes',
  },
  {
    name: '/tmp, /var/tmp and /dev/shm',
    presets: ALL_PRESETS,
    script: 'for d in /tmp /var/tmp /dev/shm; do echo x > $d/f || exit; done; echo yes',
  },
  {
    name: 'pipes, substitutions and heredocs',
    presets: ALL_PRESETS,
    script: `x=$(echo a | while read -r l; do echo "$l$l"; done); read -r y <<< "$x"; [ "$y" = aa ] && echo yes`,
  },
  {
    name: 'processes in the background',
    presets: ALL_PRESETS,
    script: '(exit 3) & wait $!; [ $? = 3 ] && echo yes',
  },
  {
    name: 'job control',
    script: 'set -m; sleep 5 & kill -STOP %1; kill -CONT %1; kill %1; wait %1; [ $? = 143 ] && echo yes',
  },
  {
    name: 'the streams as files',
    presets: ALL_PRESETS,
    script:
      'echo a > /dev/stderr; echo b > /dev/stdout; echo c > /dev/null; read -r x < /dev/urandom; echo yes',
  },
  {
    name: 'a commit',
    script: `${GIT} init -q . && echo x > f && git add f && ${GIT} commit -qm first && git log --oneline | grep -q first && echo yes`,
  },
  {
    name: 'a clone, a branch and a merge',
    script: `${GIT} init -q a && cd a && ${GIT} commit -qm x --allow-empty && ${GIT} checkout -qb b && ${GIT} commit -qm y --allow-empty && ${GIT} checkout -q main && ${GIT} merge -q b && git clone -q . ../c && echo yes`,
  },
  { name: 'Python', script: py('import json, ssl, sqlite3, hashlib; print("yes")') },
  {
    name: 'Node',
    presets: ['development'],
    script: `node -e ${quoted("require('child_process').execSync('true'); console.log('yes')")}`,
  },
  {
    name: 'threads and many processes',
    script: py(
      'import threading, subprocess\nt = [threading.Thread(target=lambda: subprocess.run(["true"], check=True)) for _ in range(20)]\nfor x in t: x.start()\nfor x in t: x.join()\nprint("yes")',
    ),
  },
  {
    name: 'a pool of processes with semaphores',
    script: py(
      'import multiprocessing\nif __name__ == "__main__":\n    with multiprocessing.get_context("fork").Pool(2) as p: print("yes" if p.map(abs, [-1, -2]) == [1, 2] else "no")',
    ),
  },
  {
    name: 'a server and a client on loopback',
    script: py(
      'import socket, threading\ns = socket.create_server(("127.0.0.1", 0))\nthreading.Thread(target=lambda: s.accept()[0].sendall(b"yes")).start()\nprint(socket.create_connection(s.getsockname()).recv(9).decode())',
    ),
  },
  {
    name: 'unix sockets in the workspace and in /tmp',
    script: py(
      'import socket, os\nfor path in ("s", "/tmp/control-sock"):\n    if os.path.exists(path): os.unlink(path)\n    s = socket.socket(socket.AF_UNIX); s.bind(path); s.listen()\n    socket.socket(socket.AF_UNIX).connect(path); os.unlink(path)\nprint("yes")',
    ),
  },
  { name: 'a FIFO in the workspace', script: 'mkfifo p; echo yes > p & read -r x < p; echo $x' },
  {
    name: 'links in the workspace',
    script:
      'echo yes > f; ln -s f g; ln f h; mkdir d; ln -s ../f d/i; [ "$(cat g h d/i | wc -l)" = 3 ] && cat d/i',
  },
  {
    name: 'a script that was made executable',
    script: String.raw`printf '#!/bin/sh\necho yes\n' > s; chmod +x s; ./s`,
  },
  {
    name: 'renaming, modes and times',
    script:
      'mkdir -p a/b; touch a/b/f; chmod 600 a/b/f; mv a c; touch -d 2001-01-01 c/b/f; rm -r c; [ ! -e c ] && echo yes',
  },
  {
    name: 'locks and a database',
    script: py(
      'import sqlite3, fcntl\nc = sqlite3.connect("x.db"); c.execute("pragma journal_mode=wal"); c.execute("create table t (a)"); c.commit()\nfcntl.flock(open("lock", "w"), fcntl.LOCK_EX)\nprint("yes")',
    ),
  },
  {
    name: 'a large sparse file and a mapping',
    script: py(
      'import mmap\nf = open("m", "w+b"); f.truncate(64 << 20); m = mmap.mmap(f.fileno(), 0); m[1000] = 1; m.flush(); print("yes")',
    ),
  },
  {
    name: 'a terminal of its own',
    script: py(
      'import os, pty\npid, fd = pty.fork()\nif pid == 0: os.execvp("sh", ["sh", "-c", "test -t 0 && echo yes"])\nprint(os.read(fd, 100).decode().strip())',
    ),
  },
  {
    name: 'a debugger of its own children',
    presets: ['development'],
    script: py(
      'import ctypes, os\nl = ctypes.CDLL(None)\np = os.fork()\nif p == 0:\n    l.ptrace(0, 0, 0, 0); os.kill(os.getpid(), 19); os._exit(7)\nos.waitpid(p, 0); l.ptrace(7, p, 0, 0)\nprint("yes" if os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) == 7 else "no")',
    ),
  },
  {
    name: 'names and users',
    script: 'getent passwd root > /dev/null && id -un > /dev/null && date > /dev/null && echo yes',
  },
  { name: 'signals and traps', presets: ALL_PRESETS, script: `trap 'echo yes' USR1; kill -USR1 $$` },
  {
    name: 'caches of package managers',
    presets: ['development'],
    script:
      'mkdir -p ~/.cache/pip ~/.npm/_cacache && echo x > ~/.cache/pip/f && echo x > ~/.npm/_cacache/f && echo yes',
  },
  {
    name: 'the host’s programs and settings, to be read',
    presets: ['development'],
    script: 'ls /usr/share /etc/passwd > /dev/null && cat ~/readable',
  },
];
