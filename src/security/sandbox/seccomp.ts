/**
 * The seccomp filter of a sandboxed command, as the array of struct sock_filter that `bwrap --seccomp FD` reads. It
 * takes away what namespaces and dropped capabilities leave: kernel interfaces with a long record of exploits, ways to
 * leave something behind for other users (set-id files), and typing into the terminal outside.
 *
 * The default is to allow, because a list of what compilers, interpreters and debuggers need would never be complete.
 * A filter sees registers, never memory. Calls that keep flags in a struct (clone3, openat2, io_uring) are therefore
 * answered as by an older kernel, and their callers fall back to calls that can be examined.
 */
import {
  ABSENT,
  type CallNumbers,
  DEBUGGING,
  EXAMINED,
  REFUSED,
  type SeccompArchitecture,
} from './seccomp-calls.ts';

export type { SeccompArchitecture } from './seccomp-calls.ts';

/** Undefined where there is no table for this architecture. */
export function buildSeccompFilter(
  architecture: string,
  options: { readonly allowsPtrace: boolean },
): Uint8Array | undefined {
  if (architecture !== 'x64' && architecture !== 'arm64') return undefined;
  const called = (calls: readonly CallNumbers[], body: Program): Program =>
    whenOneOf(
      calls.flatMap((numbers) => numbers[architecture] ?? []),
      body,
    );
  const { open, openat, creat, chmod, fchmod, fchmodat, fchmodat2, mknod, mknodat } = EXAMINED;
  const { ioctl, clone, socket, socketpair, personality } = EXAMINED;
  const refused = { ...REFUSED, ...(options.allowsPtrace ? {} : DEBUGGING) };
  return encode([
    ...checkArchitecture(architecture),
    // Files are opened more often than anything else below is done.
    ...called([openat], checkOpen(2)),
    ...called([open], checkOpen(1)),
    ...called([ioctl], checkIoctl()),
    ...called([clone], checkClone()),
    ...called([socket, socketpair], checkSocket()),
    ...called([creat, chmod, fchmod], checkMode(1)),
    ...called([fchmodat, fchmodat2], checkMode(2)),
    ...called([mknod], checkNode(1)),
    ...called([mknodat], checkNode(2)),
    ...called([personality], checkPersonality()),
    ...called(Object.values(refused), refuse(EPERM)),
    ...called(Object.values(ABSENT), refuse(ENOSYS)),
    ...allow(),
  ]);
}

const EPERM = 1;
const ENOSYS = 38;
const EPROTONOSUPPORT = 93;
const EAFNOSUPPORT = 97;

/** Numbers mean other calls in another ABI: 32-bit code is ended, x32 (the same architecture, one bit set) refused. */
function checkArchitecture(architecture: SeccompArchitecture): Program {
  const auditArchitecture = { x64: 0xc000003e, arm64: 0xc00000b7 }[architecture];
  const x32Bit = 0x40000000;
  return [
    load(4),
    [JUMP_IF_EQUAL, 1, 0, auditArchitecture],
    [RETURN, 0, 0, KILL_PROCESS],
    load(0),
    ...(architecture === 'x64' ? when(JUMP_IF_AT_LEAST, x32Bit, refuse(ENOSYS)) : []),
  ];
}

/**
 * S_ISUID and S_ISGID. A set-id file in a writable directory outlives the sandbox and hands the server's account, or its
 * group, to any other user of the machine; with umask 002 or as root the group is worth as much as the account. A
 * filter cannot tell a directory from a file, so `git init --shared` fails as well, and so does `chmod 755` of a
 * directory that has the bit, because chmod(1) keeps it. Other work in such trees goes on: a new directory inherits the
 * bit without being asked, and install, cp, tar and git do not set it. mkdir is not examined, because the kernel drops
 * both bits of its argument.
 */
const SET_ID_BITS = 0o6000;

function checkMode(modeIndex: number): Program {
  return [loadArgument(modeIndex), ...when(JUMP_IF_ANY_BIT, SET_ID_BITS, refuse(EPERM)), ...allow()];
}

/** The mode follows the flags; it counts only where a file is made, and may hold anything otherwise. */
function checkOpen(flagsIndex: number): Program {
  const creating = 0o100 | 0o20000000; // O_CREAT and the bit of O_TMPFILE.
  return [
    loadArgument(flagsIndex),
    ...when(JUMP_IF_ANY_BIT, creating, checkMode(flagsIndex + 1)),
    ...allow(),
  ];
}

function checkNode(modeIndex: number): Program {
  const [fileType, characterDevice, blockDevice] = [0o170000, 0o020000, 0o060000];
  return [
    loadArgument(modeIndex),
    ...when(JUMP_IF_ANY_BIT, SET_ID_BITS, refuse(EPERM)),
    [AND, 0, 0, fileType],
    ...whenOneOf([characterDevice, blockDevice], refuse(EPERM)),
    ...allow(),
  ];
}

/** TIOCSTI types into the terminal outside (CVE-2017-5226), and TIOCLINUX pastes into it. */
function checkIoctl(): Program {
  const [tiocsti, tioclinux] = [0x5412, 0x541c];
  // The kernel takes 32 bits of the request; comparing all 64 would let a set high bit through (CVE-2019-10063).
  return [loadArgument(1), ...whenOneOf([tiocsti, tioclinux], refuse(EPERM)), ...allow()];
}

function checkClone(): Program {
  // NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET and NEWNS. NEWTIME (0x80) lies in the byte that clone reads as
  // the exit signal; only unshare and clone3 know it. The flags are the first argument on both architectures, and the
  // kernel drops the upper half.
  const newNamespaces = 0x7e020000;
  return [loadArgument(0), ...when(JUMP_IF_ANY_BIT, newNamespaces, refuse(EPERM)), ...allow()];
}

/**
 * Only the families that ordinary programs use: AF_VSOCK reaches the hypervisor from any network namespace, and the
 * rare ones are where local root exploits are found. All three arguments are ints.
 */
function checkSocket(): Program {
  const [unix, inet, inet6, netlink] = [1, 2, 10, 16];
  const [stream, datagram, typeMask] = [1, 2, 0xf];
  const netlinkRoute = 0;
  return [
    loadArgument(0),
    ...whenOneOf([unix], allow()),
    // Neither raw nor SOCK_PACKET, which the kernel turns into AF_PACKET. The upper bits are SOCK_CLOEXEC and the like.
    ...whenOneOf(
      [inet, inet6],
      [loadArgument(1), [AND, 0, 0, typeMask], ...whenOneOf([stream, datagram], allow()), ...refuse(EPERM)],
    ),
    // Lists of interfaces and addresses (getaddrinfo, Go, Node); not netfilter, audit and the rest.
    ...whenOneOf(
      [netlink],
      [loadArgument(2), ...whenOneOf([netlinkRoute], allow()), ...refuse(EPROTONOSUPPORT)],
    ),
    ...refuse(EAFNOSUPPORT),
  ];
}

/**
 * READ_IMPLIES_EXEC and its like make exploits easier. ADDR_NO_RANDOMIZE does so for one's own programs only, and gdb
 * and ThreadSanitizer ask for it; PER_LINUX32 and UNAME26 change what uname says.
 */
function checkPersonality(): Program {
  const query = 0xffffffff;
  const harmless = 0x40000 | 0x20000 | 0x8;
  return [
    loadArgument(0),
    ...whenOneOf([query], allow()),
    ...when(JUMP_IF_ANY_BIT, ~harmless, refuse(EPERM)),
    ...allow(),
  ];
}

/** code, jump if true, jump if false, operand: the fields of struct sock_filter. */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number];
type Program = readonly Instruction[];

const LOAD_WORD = 0x20;
const AND = 0x54;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const JUMP_IF_ANY_BIT = 0x45;
const RETURN = 0x06;

const KILL_PROCESS = 0x80000000;
const ERRNO = 0x00050000;
const ALLOW = 0x7fff0000;

function load(offset: number): Instruction {
  return [LOAD_WORD, 0, 0, offset];
}

/** The lower half of an argument, in struct seccomp_data of a little endian machine. */
function loadArgument(index: number): Instruction {
  return load(16 + 8 * index);
}

function refuse(errno: number): Program {
  return [[RETURN, 0, 0, ERRNO | errno]];
}

function allow(): Program {
  return [[RETURN, 0, 0, ALLOW]];
}

/** The body returns on every path, so what follows it still finds the same word loaded. */
function when(jump: number, operand: number, body: Program): Program {
  return [[jump, 0, body.length, operand], ...body];
}

function whenOneOf(values: readonly number[], body: Program): Program {
  const last = values.length - 1;
  return values.flatMap((value, index) =>
    index === last ? when(JUMP_IF_EQUAL, value, body) : [[JUMP_IF_EQUAL, last - index, 0, value]],
  );
}

function encode(program: Program): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(8 * program.length));
  for (const [index, [code, ifTrue, ifFalse, operand]] of program.entries()) {
    // Jumps have eight bits; a longer one would silently land elsewhere.
    if (Math.max(ifTrue, ifFalse) > 0xff) throw new RangeError('A jump of the seccomp filter is too long.');
    bytes.setUint16(8 * index, code, true);
    bytes.setUint8(8 * index + 2, ifTrue);
    bytes.setUint8(8 * index + 3, ifFalse);
    bytes.setUint32(8 * index + 4, operand, true);
  }
  return new Uint8Array(bytes.buffer);
}
