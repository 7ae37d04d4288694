/**
 * Where attempts take place: a home with secrets, another person's, a workspace, and the built server, started as
 * somebody, from a terminal and with a forgotten descriptor.
 */
import { execFileSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  cpSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { PresetName } from '../../../src/base/config/presets.ts';
import { removeTree } from '../../../src/base/files.ts';
import { randomText } from '../../../src/base/ids.ts';
import { CLI, type Product, startProduct } from '../support/product.ts';
import type { User } from './attempt.ts';
import { REDACTED_FILES, SECRET_FILES } from './secrets.ts';

export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** Nobody: has no files, no groups and no rights. */
const ORDINARY_ID = 65534;

export const idOf = (user: User): number => (user === 'root' ? 0 : ORDINARY_ID);

export interface House {
  readonly user: User;
  readonly base: string;
  readonly home: string;
  readonly work: string;
  readonly bob: string;
  readonly stateDir: string;
  readonly settingsFile: string;
  readonly installation: string;
  /** What all planted secrets begin with. */
  readonly secret: string;
  write(path: string, text: string, mode?: number): void;
  /** Everything below becomes the user's; to be called after the last write. */
  handOver(): void;
  remove(): void;
}

const rooms = new Set<string>();
// A run that is interrupted calls no hook.
process.once('exit', () => {
  for (const room of rooms) rmSync(room, { recursive: true, force: true });
});

/** A directory of the system, gone at the end. Not in /tmp, of which commands see another one. */
export function makeRoom(parent: string): string {
  const room = mkdtempSync(join(parent, 'mcp-escapes-'));
  rooms.add(room);
  chmodSync(room, 0o755);
  return room;
}

export function removeRoom(room: string): void {
  removeTree(room);
  rooms.delete(room);
}

/** What is to be undone, last things first, also where setting up ended half way. */
export interface Undoing {
  add(step: () => unknown): void;
  run(): Promise<void>;
}

export function createUndoing(): Undoing {
  const steps: (() => unknown)[] = [];
  return {
    add: (step) => void steps.push(step),
    async run() {
      const errors: unknown[] = [];
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
        try {
          await step();
        } catch (error) {
          errors.push(error);
        }
      }
      if (errors.length > 0) throw new AggregateError(errors, 'not everything could be undone');
    },
  };
}

export function createHouse(user: User): House {
  const base = makeRoom('/home');
  const [home, bob, server] = [join(base, 'alice'), join(base, 'bob'), join(base, 'server')];
  const work = join(home, 'work');
  const secret = `SECRET-${randomText().slice(0, 12)}`;
  for (const directory of [work, bob, server, join(home, 'outside')])
    mkdirSync(directory, { recursive: true });
  const write = (path: string, text: string, mode = 0o644): void => {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text, { mode });
  };
  writeFileSync(join(bob, 'notes'), `${secret}-bob\n`);
  // Where the repository lies only its owner may be able to look.
  cpSync(dirname(CLI), join(server, 'dist'), { recursive: true, filter: (path) => !path.endsWith('.map') });
  return {
    user,
    base,
    home,
    work,
    bob,
    stateDir: join(home, '.local/state/mcp-shell-server'),
    settingsFile: join(home, 'conf/settings.toml'),
    installation: join(server, 'dist'),
    secret,
    write,
    handOver: () => own(home, idOf(user)),
    remove: () => removeRoom(base),
  };
}

function own(path: string, id: number): void {
  lchownSync(path, id, id);
  for (const entry of readdirSync(path, { withFileTypes: true, recursive: true }))
    lchownSync(join(entry.parentPath, entry.name), id, id);
}

/** What is worth stealing. */
export function plantSecrets(house: House): void {
  for (const path of SECRET_FILES) house.write(path, `${house.secret} ${path}\n`, 0o600);
  for (const [path, text] of Object.entries(REDACTED_FILES)) house.write(path, text(house.secret), 0o600);
  house.write('conf/settings.toml', `# ${house.secret} settings\n`, 0o600);
  symlinkSync('../.ssh', join(house.work, 'planted-keys'));
  symlinkSync(join(house.home, 'outside/planted'), join(house.work, 'planted-link'));
}

/**
 * Becomes the user, in a session with a terminal of its own and with the home directory open as descriptor 9, and then
 * the server. What holds the other end of the terminal waits for it.
 */
const STARTER = `
import fcntl, os, sys, termios
uid, home, *argv = sys.argv[1:]
master, slave = os.openpty()
child = os.fork()
if child:
    for fd in (0, 1, slave): os.close(fd)
    _, status = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(status) & 0xff)
os.close(master)
os.setsid()
fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
os.dup2(slave, 2)
os.close(slave)
os.dup2(os.open(home, os.O_RDONLY), 9)
if os.getuid() == 0:
    os.setgroups([])
    os.setresgid(int(uid), int(uid), int(uid))
    os.setresuid(int(uid), int(uid), int(uid))
os.execv(argv[0], argv)
`;

export interface StartOptions {
  readonly preset?: PresetName;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly installation?: string;
}

export interface Server extends Pick<Product, 'call' | 'execute' | 'close'> {
  /** Of the server itself; known once something ran. */
  pid(): number;
}

export async function startIn(house: House, options: StartOptions = {}): Promise<Server> {
  const { installation = house.installation } = options;
  const args = [
    '-I',
    '-c',
    STARTER,
    String(idOf(house.user)),
    house.home,
    nodeFor(house),
    join(installation, 'cli.js'),
    ...(options.args ?? []),
  ];
  const env = {
    PATH: SYSTEM_PATH,
    HOME: house.home,
    SHELL: '/bin/bash',
    SHELL_TEST_RUN: process.env['SHELL_TEST_RUN'] ?? '',
    MCP_SHELL_STATE_DIR: house.stateDir,
    MCP_SHELL_TOKEN: `${house.secret}-token`,
    ...(options.preset !== undefined && { MCP_SHELL_SECURITY_PRESET: options.preset }),
    ...options.env,
  };
  const place = {
    directory: house.base,
    work: house.work,
    stateDir: house.stateDir,
    command: () => ({ command: '/usr/bin/python3', args, env, cwd: options.cwd ?? house.work }),
    remove: () => undefined,
  };
  const product = await startProduct({ place });
  return {
    call: product.call,
    execute: product.execute,
    close: product.close,
    pid: () => pidIn(house.stateDir),
  };
}

/** A Node that was unpacked for root alone is of no use to another. */
function nodeFor(house: House): string {
  if (house.user === 'root') return process.execPath;
  try {
    execFileSync(process.execPath, ['--version'], {
      uid: ORDINARY_ID,
      gid: ORDINARY_ID,
      stdio: 'ignore',
      cwd: '/',
    });
    return process.execPath;
  } catch {
    const copy = join(house.base, 'server/node');
    try {
      accessSync(copy, constants.X_OK);
    } catch {
      copyFileSync(process.execPath, copy);
      chmodSync(copy, 0o755);
    }
    return copy;
  }
}

function pidIn(stateDir: string): number {
  const run = join(stateDir, 'run');
  for (const name of readdirSync(run)) {
    const { pid } = JSON.parse(readFileSync(join(run, name, 'instance.json'), 'utf8')) as { pid: number };
    if (pid > 0) return pid;
  }
  throw new Error('no server has announced itself');
}
