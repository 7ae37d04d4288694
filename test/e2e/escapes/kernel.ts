/** Mounts, namespaces, devices, /proc, cgroups and system calls. */
import { ALL_PRESETS, type Attempt, python, refusedCall, refusedCalls } from './attempt.ts';

const WITHOUT_DEBUGGING = ['sandbox'] as const;

export const KERNEL: readonly Attempt[] = [
  {
    name: 'core_pattern',
    presets: ALL_PRESETS,
    script: () =>
      'old="$(</proc/sys/kernel/core_pattern)"; (echo "$old" > /proc/sys/kernel/core_pattern) 2>/dev/null && echo ESCAPED',
  },
  {
    name: 'other settings of the kernel',
    presets: ALL_PRESETS,
    script: () =>
      'for f in kernel/modprobe kernel/hostname vm/overcommit_memory kernel/yama/ptrace_scope kernel/randomize_va_space net/ipv4/ip_forward fs/suid_dumpable; do [ -e /proc/sys/$f ] && old="$(</proc/sys/$f)" && (echo "$old" > /proc/sys/$f) 2>/dev/null && echo ESCAPED $f; done; true',
  },
  {
    name: 'sysrq',
    presets: ALL_PRESETS,
    script: () =>
      '(echo h > /proc/sysrq-trigger) 2>/dev/null; [ -s /proc/sysrq-trigger ] && echo ESCAPED; true',
    isSeen: () => false,
  },
  {
    name: 'interrupts and buses',
    script: () =>
      'for f in /proc/irq/default_smp_affinity /proc/irq/*/smp_affinity /proc/acpi/* /proc/bus/pci/*/*; do [ -f $f ] && old="$(cat $f 2>/dev/null | tr -d "\\0")" && (echo "$old" > $f) 2>/dev/null && echo ESCAPED $f; done; true',
  },
  {
    name: '/sys',
    presets: ALL_PRESETS,
    script: () =>
      'for f in /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/uevent_helper /sys/power/state /sys/class/leds/*/brightness /sys/kernel/profiling; do [ -e $f ] && (: >> $f) 2>/dev/null && echo ESCAPED $f; done; true',
  },
  {
    name: 'debugfs, tracefs and securityfs',
    script: () =>
      'ls -A /sys/kernel/debug /sys/kernel/tracing /sys/kernel/security 2>/dev/null | grep -v : | grep -q . && echo ESCAPED; true',
  },
  {
    name: 'leaving the cgroup',
    presets: ALL_PRESETS,
    script: () =>
      'for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/*/tasks; do [ -e $f ] && (echo $$ > $f) 2>/dev/null && echo ESCAPED $f; done; true',
  },
  {
    name: 'raising the limits of the cgroup',
    script: () =>
      'for f in $(find /sys/fs/cgroup -name memory.limit_in_bytes -o -name memory.max -o -name pids.max -o -name release_agent 2>/dev/null | head -50); do (cat $f > $f) 2>/dev/null && echo ESCAPED $f; done; true',
  },
  {
    name: 'a cgroup of its own',
    script: () =>
      'for d in /sys/fs/cgroup /sys/fs/cgroup/*/; do mkdir $d/mcp-escape 2>/dev/null && echo ESCAPED; done; true',
  },
  {
    name: 'rlimits above the hard ones',
    presets: ['sandbox', 'production', 'minimal'],
    script: () =>
      'ulimit -f unlimited 2>/dev/null && echo ESCAPED; ulimit -Hf unlimited 2>/dev/null && echo ESCAPED; true',
  },
  {
    name: 'a mount',
    script: (t) =>
      `mkdir -p ${t.work}/mnt; mount -t tmpfs x ${t.work}/mnt 2>/dev/null && echo ESCAPED; mount --bind / ${t.work}/mnt 2>/dev/null && echo ESCAPED; mount -t proc x ${t.work}/mnt 2>/dev/null && echo ESCAPED; true`,
  },
  {
    name: 'remounting the root writable',
    script: (t) =>
      `mount -o remount,rw / 2>/dev/null; mount -o remount,bind,rw ${t.home} 2>/dev/null; echo x > ${t.canary}`,
  },
  {
    name: 'taking a cover away',
    script: (t) =>
      `umount ${t.home}/.ssh ${t.stateDir} /home /run 2>/dev/null; umount -l /tmp 2>/dev/null; cat ${t.home}/.ssh/id_rsa`,
  },
  { name: 'mount(2)', script: (t) => refusedCall(165, 40, 'b"none"', `b"${t.work}"`, 'b"tmpfs"', '0', '0') },
  { name: 'umount2(2)', script: (t) => refusedCall(166, 39, `b"${t.home}/.ssh"`, '2') },
  { name: 'open_tree(2)', script: () => refusedCall(428, 428, '-100', 'b"/"', '1') },
  { name: 'move_mount(2)', script: () => refusedCall(429, 429, '-100', 'b"/tmp"', '-100', 'b"/tmp"', '0') },
  { name: 'fsopen(2)', script: () => refusedCall(430, 430, 'b"tmpfs"', '0') },
  { name: 'mount_setattr(2)', script: () => refusedCall(442, 442, '-100', 'b"/"', '0', '0', '0') },
  { name: 'pivot_root(2)', script: () => refusedCall(155, 41, 'b"/"', 'b"/tmp"') },
  { name: 'chroot(2)', script: (t) => refusedCall(161, 51, `b"${t.work}"`) },
  {
    name: 'unshare: a user namespace',
    script: () =>
      `unshare -U true 2>/dev/null && echo ESCAPED; unshare -r -m true 2>/dev/null && echo ESCAPED; ${refusedCall(272, 97, '0x10000000')}`,
  },
  {
    name: 'unshare: mounts, network, pids',
    script: () =>
      refusedCalls([272, 97, '0x20000'], [272, 97, '0x40000000'], [272, 97, '0x20000000'], [272, 97, '0x80']),
  },
  {
    name: 'clone with a new user namespace',
    script: () => refusedCall(56, 220, '0x10000011', '0', '0', '0', '0'),
  },
  {
    name: 'clone3 with a new user namespace',
    script: () =>
      python(
        'buffer = ctypes.create_string_buffer(struct.pack("<8Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0))\nresult = libc.syscall(435, buffer, 64)\nif result == 0: os._exit(0)\nif result > 0: escaped()',
      ),
  },
  {
    name: 'entering a namespace of the host',
    script: (t) =>
      `nsenter -t 1 -m true 2>/dev/null && echo ESCAPED; ${python(`for n in ("mnt", "user", "net", "pid"):\n    for p in (1, ${t.serverPid}):\n        try:\n            if call(${process.arch === 'arm64' ? 268 : 308}, os.open(f"/proc/{p}/ns/{n}", os.O_RDONLY), 0) == 0: escaped(n, p)\n        except OSError: pass`)}`,
  },
  {
    name: 'bwrap inside',
    script: () => 'bwrap --ro-bind / / --unshare-user true 2>/dev/null && echo ESCAPED; true',
  },
  {
    name: 'a device node',
    script: (t) =>
      `mknod ${t.work}/disk b 254 0 2>/dev/null && echo ESCAPED; mknod /tmp/mem c 1 1 2>/dev/null && echo ESCAPED; true`,
  },
  {
    name: 'capabilities',
    presets: ALL_PRESETS,
    script: () =>
      'while read -r name value; do case $name in CapEff:|CapPrm:|CapInh:|CapBnd:|CapAmb:) [ "$value" = 0000000000000000 ] || echo ESCAPED $name;; NoNewPrivs:) [ "$value" = 1 ] || echo ESCAPED;; Seccomp:) [ "$value" = 2 ] || echo ESCAPED;; esac; done < /proc/self/status',
  },
  {
    name: 'set-uid programs of the system',
    users: ['ordinary user'],
    script: () =>
      'for p in su sudo pkexec mount ping newuidmap; do f=$(type -P $p) && [ -u "$f" ] && "$f" --version >/dev/null 2>&1 && [ "$(id -u)" = 0 ] && echo ESCAPED; done; sudo -n true 2>/dev/null && echo ESCAPED; true',
  },
  {
    name: 'a set-uid file in the workspace',
    script: (t) =>
      `cd ${t.work}; cp /bin/sh suid 2>/dev/null; chmod u+s suid; chmod 4755 suid; chmod 2755 suid; install -m 4755 /bin/sh suid2; ${python(`for mode in (0o4755, 0o6755, 0o2755):\n    for attempt in (lambda: os.chmod("suid", mode), lambda: os.fchmod(os.open("suid", os.O_RDONLY), mode), lambda: os.close(os.open(f"new{mode}", os.O_CREAT | os.O_WRONLY, mode)), lambda: os.mknod(f"node{mode}", stat.S_IFREG | mode), lambda: call(452, -100, b"suid", mode, 0)):\n        try: attempt()\n        except OSError: pass`)}; find . -maxdepth 1 -type f -perm /6000 | grep -q . && echo ESCAPED; true`,
  },
  {
    name: 'file capabilities',
    script: (t) =>
      `cd ${t.work}; cp /bin/true caps; setcap cap_setuid+ep caps 2>/dev/null && echo ESCAPED; ${python('os.setxattr("caps", "security.capability", struct.pack("<5I", 0x02000001, 0x80, 0, 0, 0)); escaped()')}`,
  },
  {
    name: 'becoming another user',
    script: () =>
      python(
        'for f in (lambda: os.setuid(1), lambda: os.setgid(1), lambda: os.setgroups([1]), lambda: os.setresuid(0, 0, 0) if os.getuid() else os.setuid(2)):\n    try:\n        f(); escaped()\n    except OSError: pass',
      ),
  },
  {
    name: 'the keyrings of the user',
    script: () =>
      refusedCalls(
        [250, 219, '0', '-4', '0'],
        [248, 217, 'b"user"', 'b"mcp"', 'b"x"', '1', '-4'],
        [249, 218, 'b"user"', 'b"mcp"', '0', '-4'],
      ),
  },
  { name: 'bpf(2)', script: () => refusedCall(321, 280, '0', '0', '0') },
  { name: 'io_uring', script: () => refusedCall(425, 425, '4', '0') },
  { name: 'userfaultfd(2)', script: () => refusedCall(323, 282, '1') },
  { name: 'perf_event_open(2)', script: () => refusedCall(298, 241, '0', '0', '-1', '-1', '0') },
  { name: 'open_by_handle_at(2)', script: () => refusedCall(304, 265, '-100', '0', '0') },
  { name: 'a personality that makes exploits easier', script: () => refusedCall(135, 92, '0x0400000') },
  {
    name: 'modules, kexec, swap and reboot',
    script: () =>
      refusedCalls(
        [175, 105, '0', '0', 'b""'],
        [313, 273, '-1', 'b""', '0'],
        [246, 104, '0', '0', '0', '0'],
        [167, 224, 'b"/nowhere"', '0'],
        [169, 142, '1', '2', '3', '0'],
      ),
  },
  {
    name: 'the clock and the host’s name',
    script: () =>
      `date -s 2001-01-01 2>/dev/null && echo ESCAPED; hostname escaped 2>/dev/null && echo ESCAPED; ${refusedCall(170, 161, 'b"x"', '1')}`,
  },
  {
    name: 'a 32-bit system call',
    users: ['ordinary user', 'root'],
    script: (t) =>
      process.arch === 'x64'
        ? python(
            `import mmap\nm = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\n# mov eax, 21 (mount); int 0x80; ret\nm.write(b"\\xb8\\x15\\x00\\x00\\x00\\xcd\\x80\\xc3")\nf = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\nif os.fork() == 0:\n    f(); escaped("${t.serverPid}"); os._exit(0)\nos.wait()`,
          )
        : 'true',
  },
  {
    name: 'an x32 system call',
    script: () => (process.arch === 'x64' ? python('if call(0x40000000 | 39) > 0: escaped()') : 'true'),
  },
  {
    name: 'ptrace(2) of anything',
    presets: WITHOUT_DEBUGGING,
    script: () => refusedCall(101, 117, '0', '0', '0', '0'),
  },
  {
    name: 'ptrace of a process of the host',
    script: (t) =>
      python(
        `for p in (${t.serverPid}, ${t.victimPid}):\n    if call(${process.arch === 'arm64' ? 117 : 101}, 16, p, 0, 0) == 0: escaped(p)`,
      ),
  },
  {
    name: 'reading the memory of a process of the host',
    script: (t) =>
      python(
        `buffer = ctypes.create_string_buffer(8)\nfor p in (${t.serverPid}, ${t.victimPid}):\n    local = struct.pack("<2Q", ctypes.addressof(buffer), 8)\n    l = ctypes.create_string_buffer(local)\n    r = libc.syscall(${process.arch === 'arm64' ? 270 : 310}, p, l, 1, l, 1, 0)\n    if r > 0: escaped(p)\n    try:\n        os.open(f"/proc/{p}/mem", os.O_RDWR); escaped("mem", p)\n    except OSError: pass`,
      ),
  },
  {
    name: 'a descriptor of a process of the host',
    script: (t) =>
      python(
        `for p in (${t.serverPid}, ${t.victimPid}):\n    f = call(434, p, 0)\n    if f >= 0:\n        escaped("pidfd", p)\n        if call(438, f, 0, 0) >= 0: escaped(p)`,
      ),
  },
];
