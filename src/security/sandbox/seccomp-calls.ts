/**
 * The system calls that the seccomp filter knows, by what it does with them. The numbers are the kernel's ABI and never
 * change. Where an architecture has none, it does not have the call: arm64 began with the "at" variants only.
 */
export type SeccompArchitecture = 'x64' | 'arm64';

export type CallNumbers = Readonly<Partial<Record<SeccompArchitecture, number>>>;

/** Allowed or refused by their arguments. */
export const EXAMINED = {
  open: { x64: 2 },
  openat: { x64: 257, arm64: 56 },
  creat: { x64: 85 },
  chmod: { x64: 90 },
  fchmod: { x64: 91, arm64: 52 },
  fchmodat: { x64: 268, arm64: 53 },
  fchmodat2: { x64: 452, arm64: 452 },
  mknod: { x64: 133 },
  mknodat: { x64: 259, arm64: 33 },
  ioctl: { x64: 16, arm64: 29 },
  clone: { x64: 56, arm64: 220 },
  socket: { x64: 41, arm64: 198 },
  socketpair: { x64: 53, arm64: 199 },
  personality: { x64: 135, arm64: 92 },
} as const satisfies Record<string, CallNumbers>;

/**
 * Refused to everyone. Missing on purpose, because they are harmless or of use: name_to_handle_at (its handles cannot
 * be opened), process_madvise (allocators use it; for another process it wants a capability), memory policies,
 * landlock, nested seccomp filters (which can only tighten) and memfd_create.
 */
export const REFUSED = {
  // Mounts and namespaces.
  mount: { x64: 165, arm64: 40 },
  umount2: { x64: 166, arm64: 39 },
  move_mount: { x64: 429, arm64: 429 },
  open_tree: { x64: 428, arm64: 428 },
  open_tree_attr: { x64: 467, arm64: 467 },
  fsopen: { x64: 430, arm64: 430 },
  fsconfig: { x64: 431, arm64: 431 },
  fsmount: { x64: 432, arm64: 432 },
  fspick: { x64: 433, arm64: 433 },
  mount_setattr: { x64: 442, arm64: 442 },
  pivot_root: { x64: 155, arm64: 41 },
  chroot: { x64: 161, arm64: 51 },
  unshare: { x64: 272, arm64: 97 },
  setns: { x64: 308, arm64: 268 },
  // The state of the machine.
  kexec_load: { x64: 246, arm64: 104 },
  kexec_file_load: { x64: 320, arm64: 294 },
  init_module: { x64: 175, arm64: 105 },
  finit_module: { x64: 313, arm64: 273 },
  delete_module: { x64: 176, arm64: 106 },
  reboot: { x64: 169, arm64: 142 },
  swapon: { x64: 167, arm64: 224 },
  swapoff: { x64: 168, arm64: 225 },
  acct: { x64: 163, arm64: 89 },
  quotactl: { x64: 179, arm64: 60 },
  quotactl_fd: { x64: 443, arm64: 443 },
  syslog: { x64: 103, arm64: 116 },
  vhangup: { x64: 153, arm64: 58 },
  sethostname: { x64: 170, arm64: 161 },
  setdomainname: { x64: 171, arm64: 162 },
  nfsservctl: { x64: 180, arm64: 42 },
  lookup_dcookie: { x64: 212, arm64: 18 },
  uselib: { x64: 134 },
  clock_settime: { x64: 227, arm64: 112 },
  clock_adjtime: { x64: 305, arm64: 266 },
  settimeofday: { x64: 164, arm64: 170 },
  adjtimex: { x64: 159, arm64: 171 },
  // Keyrings have no namespace here: those of the user outside would be within reach.
  keyctl: { x64: 250, arm64: 219 },
  add_key: { x64: 248, arm64: 217 },
  request_key: { x64: 249, arm64: 218 },
  // A handle leads past the mounts to any file of the file system, and fanotify watches them.
  open_by_handle_at: { x64: 304, arm64: 265 },
  fanotify_init: { x64: 300, arm64: 262 },
  // Where exploits begin, or what they are made of. I/O ports and the LDT serve Wine and DOS emulators only.
  bpf: { x64: 321, arm64: 280 },
  perf_event_open: { x64: 298, arm64: 241 },
  userfaultfd: { x64: 323, arm64: 282 },
  pidfd_getfd: { x64: 438, arm64: 438 },
  kcmp: { x64: 312, arm64: 272 },
  iopl: { x64: 172 },
  ioperm: { x64: 173 },
  modify_ldt: { x64: 154 },
} as const satisfies Record<string, CallNumbers>;

/**
 * All three give the same power over another process, so they are allowed together: strace and py-spy read memory with
 * the last two. A tracer does not escape the filter, which since Linux 4.8 runs on what the tracer made of a call.
 */
export const DEBUGGING = {
  ptrace: { x64: 101, arm64: 117 },
  process_vm_readv: { x64: 310, arm64: 270 },
  process_vm_writev: { x64: 311, arm64: 271 },
} as const satisfies Record<string, CallNumbers>;

/** "No such call" rather than "not permitted", because that is what the C library and libuv fall back upon. */
export const ABSENT = {
  clone3: { x64: 435, arm64: 435 },
  openat2: { x64: 437, arm64: 437 },
  io_uring_setup: { x64: 425, arm64: 425 },
  io_uring_enter: { x64: 426, arm64: 426 },
  io_uring_register: { x64: 427, arm64: 427 },
} as const satisfies Record<string, CallNumbers>;
