import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needs } from '../../../test/setup/needs.ts';
import { buildSeccompFilter, type SeccompArchitecture } from './seccomp.ts';
import { ABSENT, type CallNumbers, DEBUGGING, EXAMINED, REFUSED } from './seccomp-calls.ts';

const CALLS: Readonly<Record<string, CallNumbers>> = { ...EXAMINED, ...REFUSED, ...DEBUGGING, ...ABSENT };
const ARCHITECTURES: readonly SeccompArchitecture[] = ['x64', 'arm64'];
const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7 };
const I386 = 0x40000003;
/** Linux's own, which are others than those of the system that the tests may run on. */
const ERRNO: Readonly<Record<number, string>> = {
  1: 'EPERM',
  38: 'ENOSYS',
  93: 'EPROTONOSUPPORT',
  97: 'EAFNOSUPPORT',
};
/** AT_FDCWD */
const HERE = -100;

interface Call {
  readonly architecture: number;
  readonly number: number;
  readonly args: readonly number[];
}

/** What the kernel would do with a call: a classic BPF machine over struct seccomp_data. */
function evaluate(filter: Uint8Array, { architecture, number, args }: Call): string {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, number, true);
  data.setUint32(4, architecture, true);
  for (const [index, value] of args.entries()) data.setBigInt64(16 + 8 * index, BigInt(value), true);
  const program = new DataView(filter.buffer);
  let accumulator = 0;
  for (let at = 0; at < filter.length; at += 8) {
    const [ifTrue, ifFalse] = [program.getUint8(at + 2), program.getUint8(at + 3)];
    const operand = program.getUint32(at + 4, true);
    const jump = (isTrue: boolean): number => 8 * (isTrue ? ifTrue : ifFalse);
    const code = program.getUint16(at, true);
    if (code === 0x20) accumulator = data.getUint32(operand, true);
    else if (code === 0x54) accumulator = (accumulator & operand) >>> 0;
    else if (code === 0x15) at += jump(accumulator === operand);
    else if (code === 0x35) at += jump(accumulator >= operand);
    else if (code === 0x45) at += jump((accumulator & operand) !== 0);
    else if (code === 0x06) return nameAction(operand);
    else throw new Error(`Unknown instruction ${code}`);
  }
  throw new Error('The program ran past its end.');
}

function nameAction(value: number): string {
  if (value === 0x7fff0000) return 'allow';
  if (value === 0x80000000) return 'kill';
  if (value >>> 16 !== 5) throw new Error(`Unknown action ${value}`);
  return ERRNO[value & 0xffff] ?? `errno ${value & 0xffff}`;
}

function build(architecture: string, allowsPtrace = false): Uint8Array {
  const filter = buildSeccompFilter(architecture, { allowsPtrace });
  if (filter === undefined) throw new Error(`There is no filter for ${architecture}.`);
  return filter;
}

type Case = readonly [call: string, args: readonly number[], action: string];

const CASES: readonly Case[] = [
  // open: the mode counts where a file is made, and only there.
  ['openat', [HERE, 0, 0o102, 0o644], 'allow'],
  ['openat', [HERE, 0, 0o102, 0o1777], 'allow'],
  ['openat', [HERE, 0, 0, 0o6755], 'allow'],
  ['openat', [HERE, 0, 0o101, 0o4755], 'EPERM'],
  ['openat', [HERE, 0, 0o101, 0o2755], 'EPERM'],
  ['openat', [HERE, 0, 0o2000101, 0o4000], 'EPERM'],
  ['openat', [HERE, 0, 0o20200001, 0o4755], 'EPERM'],
  ['openat', [HERE, 0, 0o20200001, 0o755], 'allow'],
  ['openat', [HERE, 0, 2 ** 32 + 0o101, 2 ** 32 + 0o4755], 'EPERM'],
  ['openat', [HERE, 0, 0o101, 0o1_104755], 'EPERM'],
  ['open', [0, 0o102, 0o644], 'allow'],
  ['open', [0, 0o102, 0o4755], 'EPERM'],
  ['open', [0, 0o2, 0o4755], 'allow'],
  ['open', [0, 0o20200002, 0o2755], 'EPERM'],
  ['creat', [0, 0o644], 'allow'],
  ['creat', [0, 0o4644], 'EPERM'],
  // chmod
  ['chmod', [0, 0o1777], 'allow'],
  ['chmod', [0, 0o4755], 'EPERM'],
  ['chmod', [0, 0o2775], 'EPERM'],
  ['fchmod', [3, 0o755], 'allow'],
  ['fchmod', [3, 0o4755], 'EPERM'],
  ['fchmod', [0o6000, 0o755], 'allow'],
  ['fchmodat', [HERE, 0, 0o755], 'allow'],
  ['fchmodat', [HERE, 0o6000, 0o755], 'allow'],
  ['fchmodat', [HERE, 0, 0o4755], 'EPERM'],
  ['fchmodat', [HERE, 0, 2 ** 40 + 0o2755], 'EPERM'],
  ['fchmodat2', [HERE, 0, 0o755, 0x100], 'allow'],
  ['fchmodat2', [HERE, 0, 0o4755, 0x100], 'EPERM'],
  // mknod: files, pipes and sockets, but no devices.
  ['mknod', [0, 0o100644, 0], 'allow'],
  ['mknod', [0, 0o010644, 0], 'allow'],
  ['mknod', [0, 0o020644, 0], 'EPERM'],
  ['mknod', [0, 0o060644, 0], 'EPERM'],
  ['mknodat', [HERE, 0, 0o644, 0], 'allow'],
  ['mknodat', [HERE, 0, 0o010600, 0], 'allow'],
  ['mknodat', [HERE, 0, 0o140755, 0], 'allow'],
  ['mknodat', [HERE, 0, 0o020666, 0x501], 'EPERM'],
  ['mknodat', [HERE, 0, 0o060660, 0x800], 'EPERM'],
  ['mknodat', [HERE, 0, 0o104755, 0], 'EPERM'],
  ['mknodat', [HERE, 0, 0o102755, 0], 'EPERM'],
  // ioctl: TCGETS, TIOCGWINSZ, TIOCSCTTY and FIONREAD serve every terminal program.
  ['ioctl', [0, 0x5401, 0], 'allow'],
  ['ioctl', [0, 0x5413, 0], 'allow'],
  ['ioctl', [0, 0x540e, 0], 'allow'],
  ['ioctl', [0, 0x541b, 0], 'allow'],
  ['ioctl', [0, 0x5412, 0], 'EPERM'],
  ['ioctl', [0, 2 ** 32 + 0x5412, 0], 'EPERM'],
  ['ioctl', [0, 2 ** 52 + 0x541c, 0], 'EPERM'],
  ['ioctl', [0, 0x541c, 0], 'EPERM'],
  // clone: fork, a thread, vfork; every namespace by itself, and hidden among the flags of a fork.
  ['clone', [0x1200011, 0], 'allow'],
  ['clone', [0x3d0f00, 0], 'allow'],
  ['clone', [0x4111, 0], 'allow'],
  ['clone', [0x80, 0], 'allow'],
  ...[0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000].flatMap(
    (flag): Case[] => [
      ['clone', [flag, 0], 'EPERM'],
      ['clone', [2 ** 32 + flag + 0x1200011, 0], 'EPERM'],
    ],
  ),
  // socket
  ['socket', [1, 1, 0], 'allow'],
  ['socket', [1, 5, 0], 'allow'],
  ['socket', [2, 1, 0], 'allow'],
  ['socket', [2, 0x80801, 6], 'allow'],
  ['socket', [2, 0x80002, 17], 'allow'],
  ['socket', [10, 1, 262], 'allow'],
  ['socket', [10, 2, 58], 'allow'],
  ['socket', [16, 3, 0], 'allow'],
  ['socket', [16, 0x80002, 0], 'allow'],
  ['socket', [2, 3, 1], 'EPERM'],
  ['socket', [2, 0x80803, 255], 'EPERM'],
  ['socket', [2, 10, 0x300], 'EPERM'],
  ['socket', [2, 5, 132], 'EPERM'],
  ['socket', [10, 3, 58], 'EPERM'],
  ['socket', [2 ** 32 + 2, 2 ** 32 + 3, 1], 'EPERM'],
  ...[1, 4, 6, 7, 9, 12, 15, 16].map((protocol): Case => ['socket', [16, 3, protocol], 'EPROTONOSUPPORT']),
  // AX25, IPX, KEY, PACKET, RDS, CAN, TIPC, BLUETOOTH, ALG, VSOCK, KCM, XDP and what is yet to come.
  ...[0, 3, 4, 15, 17, 21, 29, 30, 31, 38, 40, 41, 44, 60].map((family): Case => {
    return ['socket', [family, 1, 0], 'EAFNOSUPPORT'];
  }),
  ['socket', [2 ** 32 + 40, 1, 0], 'EAFNOSUPPORT'],
  ['socketpair', [1, 1, 0], 'allow'],
  ['socketpair', [30, 1, 0], 'EAFNOSUPPORT'],
  // personality
  ['personality', [0], 'allow'],
  ['personality', [8], 'allow'],
  ['personality', [0x20008], 'allow'],
  ['personality', [0x40000], 'allow'],
  ['personality', [0xffffffff], 'allow'],
  ['personality', [-1], 'allow'],
  ['personality', [0x400000], 'EPERM'],
  ['personality', [0x440000], 'EPERM'],
  ['personality', [0x100000], 'EPERM'],
  ['personality', [2 ** 32 + 0x400000], 'EPERM'],
  // The rest is refused or absent whatever it is asked.
  ...[...Object.keys(REFUSED), ...Object.keys(DEBUGGING)].flatMap((name): Case[] => [
    [name, [], 'EPERM'],
    [name, [-1, -1, -1, -1, -1, -1], 'EPERM'],
  ]),
  ...Object.keys(ABSENT).map((name): Case => [name, [0, 1], 'ENOSYS']),
];

describe.each(ARCHITECTURES)('on %s the filter', (architecture) => {
  const known = Object.values(CALLS).flatMap((numbers) => numbers[architecture] ?? []);

  test('decides by call and arguments', () => {
    const filter = build(architecture);
    const decided = CASES.map(([name, args, action]): Case => {
      const number = CALLS[name]?.[architecture];
      // A call that the architecture lacks cannot be made.
      return number === undefined
        ? [name, args, action]
        : [name, args, evaluate(filter, { architecture: AUDIT[architecture], number, args })];
    });
    expect(decided).toEqual(CASES);
  });

  test('leaves every other call alone', () => {
    const filter = build(architecture);
    const others = Array.from({ length: 1000 }, (_, number) => number).filter((n) => !known.includes(n));
    const touched = others.filter(
      (number) =>
        evaluate(filter, { architecture: AUDIT[architecture], number, args: [-1, -1, -1] }) !== 'allow',
    );
    expect(touched).toEqual([]);
  });

  test('ends a process that uses another ABI', () => {
    const filter = build(architecture);
    const other = architecture === 'x64' ? AUDIT.arm64 : AUDIT.x64;
    const actions = [I386, 0x40000028, other, 0].flatMap((foreign) =>
      [0, 5, 435].map((number) => evaluate(filter, { architecture: foreign, number, args: [] })),
    );
    expect(new Set(actions)).toEqual(new Set(['kill']));
  });

  test('allows debuggers their calls and nothing else where it is told so', () => {
    const [strict, loose] = [build(architecture), build(architecture, true)];
    const decide = (filter: Uint8Array, number: number): string =>
      evaluate(filter, { architecture: AUDIT[architecture], number, args: [] });
    const loosened = Object.entries(CALLS).flatMap(([name, numbers]) => {
      const number = numbers[architecture];
      return number !== undefined && decide(strict, number) !== decide(loose, number) ? [name] : [];
    });
    expect(loosened.sort()).toEqual(['process_vm_readv', 'process_vm_writev', 'ptrace']);
  });

  test('is small, and no number stands for two calls', () => {
    expect(build(architecture).length % 8).toBe(0);
    expect(build(architecture).length).toBeLessThan(2048);
    expect(new Set(known).size).toBe(known.length);
  });

  // Numbers never change, so it is enough that some machine has the headers.
  const headers = {
    x64: ['/usr/include/x86_64-linux-gnu/asm/unistd_64.h', '/usr/include/asm/unistd_64.h'],
    arm64: ['/usr/include/asm-generic/unistd.h'],
  };
  const header = headers[architecture].find((path) => existsSync(path));
  test.skipIf(header === undefined)('has the numbers of the kernel’s headers', () => {
    const text = readFileSync(header ?? '', 'utf8');
    const defined = [...text.matchAll(/^#define __NR_(\w+)\s+(\d+)\s*$/gm)].map(([, name = '', number]) => {
      return [name, Number(number)] as const;
    });
    const expected = Object.fromEntries(defined.filter(([name]) => name in CALLS));
    const actual = Object.entries(CALLS).flatMap(([name, numbers]) => {
      const number = numbers[architecture];
      // Headers may be older than a call.
      return number === undefined || (number > 450 && !(name in expected)) ? [] : [[name, number]];
    });
    expect(Object.fromEntries(actual)).toEqual(expected);
  });
});

test('the x32 calls do not exist', () => {
  const numbers = [0x40000000, 0x40000000 + 101, 0x40000000 + 521, 0xffffffff];
  const actions = numbers.map((number) =>
    evaluate(build('x64'), { architecture: AUDIT.x64, number, args: [] }),
  );
  expect(actions).toEqual(numbers.map(() => 'ENOSYS'));
});

test('other architectures have no filter', () => {
  const names = ['ia32', 'arm', 'riscv64', 'ppc64', 's390x', '', 'toString'];
  expect(names.map((name) => buildSeccompFilter(name, { allowsPtrace: false }))).toEqual(
    names.map(() => undefined),
  );
});

describe.skipIf(needs('bwrap', 'python3', 'git'))('under bwrap', () => {
  const architecture = process.arch as SeccompArchitecture;
  let directory = '';
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'seccomp-'));
    writeFileSync(join(directory, 'strict'), build(architecture));
    writeFileSync(join(directory, 'debugging'), build(architecture, true));
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  function run(filter: 'strict' | 'debugging' | 'none', argv: readonly string[]): SpawnSyncReturns<string> {
    const profile = ['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp'];
    const isolation = ['--unshare-user', '--unshare-pid', '--cap-drop', 'ALL', '--chdir', '/tmp'];
    const descriptor = openSync(filter === 'none' ? '/dev/null' : join(directory, filter), 'r');
    try {
      const options = [...profile, ...isolation, ...(filter === 'none' ? [] : ['--seccomp', '3'])];
      return spawnSync('bwrap', [...options, '--', ...argv], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe', descriptor],
        env: { ...process.env, HOME: '/tmp', TMPDIR: '/tmp' },
      });
    } finally {
      closeSync(descriptor);
    }
  }

  const PROBE = `
import ctypes, errno, json, sys
libc = ctypes.CDLL(None, use_errno=True)
open('/tmp/file', 'w').close()
def probe(number, args):
    args = [arg.encode() if isinstance(arg, str) else ctypes.c_ulong(arg & (2**64 - 1)) for arg in args]
    result = libc.syscall(ctypes.c_long(number), *args)
    return errno.errorcode[ctypes.get_errno()] if result == -1 else 'ok'
print(json.dumps([probe(number, args) for number, args in json.loads(sys.argv[1])]))
`;

  type Probe = readonly [call: string, args: readonly (number | string)[], refusal: string];

  function probe(filter: 'strict' | 'debugging' | 'none', probes: readonly Probe[]): Probe[] {
    const asked = probes.map(([name, args]) => [CALLS[name]?.[architecture], args]);
    const { stdout, stderr } = run(filter, ['python3', '-c', PROBE, JSON.stringify(asked)]);
    expect(stderr).toBe('');
    const answers = JSON.parse(stdout) as string[];
    return probes.map(([name, args], index) => [name, args, answers[index] ?? '']);
  }

  // Asked so that the kernel by itself answers otherwise, with another error or by doing it, and not for want of a
  // capability: 1 is a bad address, and descriptors and processes are not there.
  const nobody = 2 ** 22 + 1;
  const oDirectory = architecture === 'x64' ? 0o200000 : 0o40000;
  const PROBES = (
    [
      ['ptrace', [2, nobody, 0, 0], 'EPERM'],
      ['process_vm_readv', [nobody, 0, 0, 0, 0, 0], 'EPERM'],
      ['process_vm_writev', [nobody, 0, 0, 0, 0, 0], 'EPERM'],
      ['mount', [1, 1, 1, 0, 1], 'EPERM'],
      ['umount2', [1, 0x100], 'EPERM'],
      ['open_tree', [-1, '/', 0xffffffff], 'EPERM'],
      ['open_tree_attr', [-1, '/', 0xffffffff, 0, 0], 'EPERM'],
      ['fsconfig', [-1, 0, 0, 0, 0], 'EPERM'],
      ['mount_setattr', [-1, '/', 0xffffffff, 1, 1], 'EPERM'],
      ['chroot', [1], 'EPERM'],
      ['unshare', [1], 'EPERM'],
      ['setns', [-1, 0], 'EPERM'],
      ['clone', [0x10000200, 0, 0, 0, 0], 'EPERM'],
      ['keyctl', [9999, 0, 0, 0, 0], 'EPERM'],
      ['add_key', [1, 1, 1, 1, 1], 'EPERM'],
      ['request_key', [1, 1, 1, 1], 'EPERM'],
      ['perf_event_open', [1, 0, -1, -1, 0xffff], 'EPERM'],
      ['userfaultfd', [1], 'EPERM'],
      ['pidfd_getfd', [-1, 0, 0], 'EPERM'],
      ['kcmp', [nobody, nobody, 0, 0, 0], 'EPERM'],
      ['clock_settime', [0, 1], 'EPERM'],
      ['clock_adjtime', [0, 1], 'EPERM'],
      ['settimeofday', [1, 0], 'EPERM'],
      ['adjtimex', [1], 'EPERM'],
      ['quotactl', [-1, 1, 1, 1], 'EPERM'],
      ['quotactl_fd', [-1, 0, 0, 0], 'EPERM'],
      ['nfsservctl', [0, 0, 0], 'EPERM'],
      ['iopl', [4], 'EPERM'],
      ['ioperm', [-1, 1, 1], 'EPERM'],
      ['modify_ldt', [9, 0, 0], 'EPERM'],
      ['personality', [0x400000], 'EPERM'],
      ['clone3', [0, 0], 'ENOSYS'],
      ['openat2', [HERE, '/', 1, 0], 'ENOSYS'],
      ['io_uring_setup', [0, 1], 'ENOSYS'],
      ['io_uring_register', [-1, 0, 0, 0], 'ENOSYS'],
      ['io_uring_enter', [-1, 0, 0, 0, 0, 0], 'ENOSYS'],
      ['chmod', ['/tmp/file', 0o4755], 'EPERM'],
      ['chmod', ['/tmp/file', 0o2755], 'EPERM'],
      ['fchmod', [-1, 0o4755], 'EPERM'],
      ['fchmodat', [HERE, '/tmp/file', 0o2755], 'EPERM'],
      ['fchmodat2', [HERE, '/tmp/file', 0o4755, 0], 'EPERM'],
      ['creat', ['/tmp/created', 0o4755], 'EPERM'],
      ['open', ['/tmp/opened', 0o101, 0o6755], 'EPERM'],
      ['openat', [HERE, '/tmp/openedat', 0o101, 0o2755], 'EPERM'],
      ['openat', [HERE, '/tmp', 0o20000001 | oDirectory, 0o4755], 'EPERM'],
      ['mknod', ['/tmp/set-uid', 0o104755, 0], 'EPERM'],
      ['mknodat', [HERE, '/tmp/device', 0o020666, 0], 'EPERM'],
      ['ioctl', [0, 0x5412, 0], 'EPERM'],
      ['ioctl', [0, 2 ** 32 + 0x5412, 0], 'EPERM'],
      ['ioctl', [0, 0x541c, 0], 'EPERM'],
      ['socket', [17, 3, 0], 'EAFNOSUPPORT'],
      ['socketpair', [17, 3, 0, 1], 'EAFNOSUPPORT'],
      ['socket', [2, 3, 999], 'EPERM'],
      ['socket', [10, 3, 999], 'EPERM'],
      ['socket', [16, 3, 16], 'EPROTONOSUPPORT'],
    ] satisfies Probe[]
  ).filter(([name]) => CALLS[name]?.[architecture] !== undefined);

  test('refuses what the kernel alone would not', () => {
    expect(probe('strict', PROBES)).toEqual(PROBES);
    const without = probe('none', PROBES);
    expect(without.filter((answer, index) => answer[2] === PROBES[index]?.[2])).toEqual([]);
  });

  test('lets the kernel answer a debugger where that is allowed', () => {
    const debugging = PROBES.filter(([name]) => name in DEBUGGING);
    expect(probe('debugging', debugging)).toEqual(probe('none', debugging));
    const others = PROBES.filter(([name]) => !(name in DEBUGGING));
    expect(probe('debugging', others)).toEqual(others);
  });

  test.skipIf(architecture !== 'x64')('ends a process that enters the kernel by the 32-bit gate', () => {
    // mov eax, 20 (getpid); int 0x80; ret
    const code = `
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex('b814000000cd80c3'))
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
print('survived')
`;
    const { status, stdout } = run('strict', ['python3', '-c', code]);
    expect({ status, stdout }).toEqual({ status: 128 + constants.signals.SIGSYS, stdout: '' });
  });

  const python = (code: string): string[] => ['python3', '-c', code];
  const bash = (code: string): string[] => ['bash', '-euc', code];
  const TCP = `
import socket
for family, address in ((socket.AF_INET, ('127.0.0.1', 0)), (socket.AF_UNIX, '/tmp/socket')):
    server = socket.socket(family); server.bind(address); server.listen()
    client = socket.socket(family); client.connect(server.getsockname())
    server.accept()[0].send(b'works'); print(client.recv(5).decode())
socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); socket.socketpair(); print(len(socket.if_nameindex()) > 0)
`;
  const NODE = `
const { Worker } = require('node:worker_threads');
const { execFileSync } = require('node:child_process');
require('node:fs').writeFileSync('/tmp/n', 'x', { mode: 0o600 });
require('node:os').networkInterfaces();
new Worker('require("node:worker_threads").parentPort.postMessage("works")', { eval: true })
  .on('message', (text) => console.log(text + execFileSync('echo', [' too'])));
`;
  const THREADS = `
import threading, subprocess, os, concurrent.futures as futures
pid = os.fork()
if pid == 0: os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(list(futures.ThreadPoolExecutor(4).map(lambda n: n * n, range(4))))
print(subprocess.run(['echo', 'works'], capture_output=True, text=True).stdout)
`;
  const GIT = `git init -q r; cd r; git config user.email a@b; git config user.name n; echo x > f
git add f; git commit -qm first; git clone -q . ../s; git -C ../s log --format=%s`;
  test.each([
    { name: 'fork, threads and subprocesses', argv: python(THREADS), prints: '7\n[0, 1, 4, 9]\nworks\n\n' },
    {
      name: 'process pools',
      argv: python('import multiprocessing as m\nwith m.Pool(2) as p: print(p.map(abs, [-1, 2]))'),
      prints: '[1, 2]\n',
    },
    { name: 'unix, TCP, UDP and route sockets', argv: python(TCP), prints: 'works\nworks\nTrue\n' },
    {
      name: 'node',
      argv: [process.execPath.startsWith('/tmp/') ? 'node' : process.execPath, '-e', NODE],
      prints: 'works too\n\n',
    },
    { name: 'git', argv: bash(GIT), prints: 'first\n' },
    {
      name: 'pipes and named pipes',
      argv: bash('mkfifo p; echo works > p & cat p | tr a-z A-Z; wait'),
      prints: 'WORKS\n',
    },
    {
      name: 'modes without set-id bits',
      argv: bash('mkdir -m 755 d; chmod 1777 d; touch f; chmod 600 f; install -m 755 f g; stat -c %a d f g'),
      prints: '1777\n600\n755\n',
    },
    {
      name: 'tar',
      argv: bash(
        'mkdir -p d/e; echo x > d/e/f; chmod 750 d/e; tar cf a.tar d; rm -r d; tar xpf a.tar; stat -c %a d/e',
      ),
      prints: '750\n',
    },
    {
      name: 'mkdir, whose set-id bits the kernel drops by itself',
      argv: python('import os; os.umask(0); os.mkdir("d", 0o7755); print(oct(os.stat("d").st_mode))'),
      prints: '0o41755\n',
    },
    {
      name: 'personality without address randomisation',
      argv: ['setarch', '--addr-no-randomize', 'echo', 'works'],
      prints: 'works\n',
    },
  ])('keeps working: $name', ({ argv, prints }) => {
    const { status, stdout, stderr } = run('strict', argv);
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: prints, stderr: '' });
  });
});
