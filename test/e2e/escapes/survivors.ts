/** Ways to outlive the command that started one. Each leaves a sleep of a length that nobody else has. */
import { quoted } from './attempt.ts';

const sleep = (seconds: string): string => `exec sleep ${seconds}`;

/** By a name: bash that leaves `sleep <seconds>` behind, in the background. */
export const SURVIVORS: Readonly<Record<string, (seconds: string) => string>> = {
  'in the background': (s) => `sleep ${s} &`,
  setsid: (s) => `setsid sleep ${s} &`,
  'setsid, forked twice': (s) => `(setsid sh -c ${quoted(`sleep ${s} & sleep ${s} &`)} &)`,
  nohup: (s) => `nohup sleep ${s} > /dev/null 2>&1 &`,
  disown: (s) => `sleep ${s} & disown -a`,
  'without environment': (s) => `env -i setsid sleep ${s} &`,
  'a daemon': (s) => `/usr/bin/python3 -I -c ${quoted(daemon(s, ''))} &`,
  'a daemon that closed everything': (s) =>
    `/usr/bin/python3 -I -c ${quoted(daemon(s, 'os.closerange(0, 256)'))} &`,
  'deaf to signals': (s) => `(trap '' TERM INT HUP QUIT USR1 USR2; ${sleep(s)}) &`,
  'under another name': (s) => `bash -c ${quoted(`exec -a init sleep ${s}`)} &`,
  // Not before it is a sleep, by which it is known.
  stopped: (s) =>
    `sleep ${s} & until read -r name < /proc/$!/comm && [ "$name" = sleep ]; do :; done; kill -STOP $!`,
  'a chain of forks': (s) => `(((((sleep ${s} &) &) &) &) &)`,
  'its own session and terminal': (s) =>
    `/usr/bin/python3 -I -c ${quoted(`import os, pty\nif pty.fork()[0] == 0: os.execvp("sleep", ["sleep", "${s}"])\nimport time; time.sleep(${s})`)} &`,
};

function daemon(seconds: string, more: string): string {
  return `import os\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.chdir("/"); ${more}\n        os.execvp("sleep", ["sleep", "${seconds}"])\n    os._exit(0)\nos.wait()`;
}
