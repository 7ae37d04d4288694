/** Reaching processes of the host: signals, sockets, FIFOs, the network and the terminal. */
import { ALL_PRESETS, type Attempt, python } from './attempt.ts';

const OFF = ['sandbox'] as const;
const SHUT = ['sandbox', 'production', 'minimal'] as const;

/** A name in the abstract namespace begins with a zero, and some programs fill it up with them. */
const connect = (path: string): string =>
  python(
    `for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):\n    for path in ("${path}", "${path}".ljust(108, "\\0")):\n        try:\n            s = socket.socket(socket.AF_UNIX, kind); s.settimeout(1)\n            s.connect(path); escaped(); s.send(b"x")\n        except (OSError, ValueError): pass`,
  );

const family = (name: string, code: string): Attempt => ({
  name,
  script: () => python(`try:\n    ${code}\n    escaped()\nexcept OSError: pass`),
});

export const REACH: readonly Attempt[] = [
  {
    name: 'a signal to the server',
    presets: ALL_PRESETS,
    script: (t) =>
      `kill -0 ${t.serverPid} 2>/dev/null && [ "$(</proc/${t.serverPid}/comm)" = node ] && echo ESCAPED; kill -TERM ${t.serverPid} 2>/dev/null; true`,
  },
  {
    name: 'a signal to another process',
    presets: ALL_PRESETS,
    script: (t) => `kill -KILL ${t.victimPid} 2>/dev/null; kill -KILL -${t.victimPid} 2>/dev/null; true`,
  },
  {
    name: 'a signal to everybody',
    users: ['ordinary user', 'root'],
    script: () =>
      `${python('signal.signal(signal.SIGUSR2, signal.SIG_IGN)\nos.kill(-1, signal.SIGUSR2)')}; true`,
  },
  {
    name: 'a signal by pidfd',
    script: (t) =>
      python(
        `for p in (${t.serverPid}, ${t.victimPid}):\n    try: signal.pidfd_send_signal(os.pidfd_open(p), signal.SIGKILL); escaped(p)\n    except OSError: pass`,
      ),
  },
  {
    name: 'priorities of other processes',
    script: (t) =>
      python(
        `for p in (${t.serverPid}, ${t.victimPid}):\n    for f in (lambda: os.setpriority(os.PRIO_PROCESS, p, 19), lambda: os.sched_setaffinity(p, {0}), lambda: __import__("resource").prlimit(p, 7)):\n        try: f(); escaped(p)\n        except OSError: pass`,
      ),
  },
  {
    name: 'more than its own processes in /proc',
    presets: ALL_PRESETS,
    script: (t) =>
      `set -- /proc/[0-9]*; [ $# -gt 20 ] && echo ESCAPED $#; [ -e /proc/${t.victimPid}/environ ] && [ "$(</proc/${t.victimPid}/comm)" = sleep ] && echo ESCAPED; true`,
  },
  {
    name: 'shared memory and queues of the host',
    script: () => 'ipcs -m 2>/dev/null | grep -q 0x4d435045 && echo ESCAPED; true',
  },

  // Sockets with a name in the file system.
  { name: 'a socket in the home directory', script: (t) => connect(t.sockets[0] ?? '') },
  { name: 'a socket in /run', script: (t) => connect(t.sockets[1] ?? '') },
  {
    name: 'a socket in /var/run',
    script: (t) => connect((t.sockets[1] ?? '').replace(/^\/run/, '/var/run')),
  },
  { name: 'a socket in /opt', script: (t) => connect(t.sockets[2] ?? '') },
  { name: 'a socket in a cache directory', script: (t) => connect(t.sockets[3] ?? '') },
  {
    name: 'a socket, through a link in the workspace',
    script: (t) => `ln -sfn ${t.home}/agent ${t.work}/agent-link; ${connect(`${t.work}/agent-link/sock`)}`,
  },
  {
    name: 'a socket, through a hard link',
    script: (t) =>
      `ln ${t.sockets[0]} ${t.work}/hard.sock 2>/dev/null; ln ${t.sockets[3]} ${t.home}/.cache/hard.sock 2>/dev/null; ${connect(`${t.work}/hard.sock`)}; ${connect(`${t.home}/.cache/hard.sock`)}`,
  },
  { name: 'a socket, through /proc/self/root', script: (t) => connect(`/proc/self/root${t.sockets[0]}`) },
  {
    name: 'engines, buses and agents of the system',
    script: () =>
      'for s in /run/docker.sock /var/run/docker.sock /run/containerd/containerd.sock /run/podman/podman.sock /run/dbus/system_bus_socket /run/systemd/private /run/user/*/bus /run/systemd/journal/socket /tmp/.X11-unix/X0; do [ -S $s ] && echo ESCAPED $s; done; true',
  },
  {
    name: 'an abstract socket',
    // With the network on, its namespace is the host's, and so are the names in it.
    presets: ['sandbox', 'production'],
    script: (t) => connect(`\\0${t.abstractName}`),
  },
  {
    name: 'a FIFO that a host process reads',
    script: (t) =>
      `timeout 1 bash -c "echo intruder > ${t.fifo}"; ${python(`os.write(os.open("${t.fifo}", os.O_WRONLY | os.O_NONBLOCK), b"intruder")`)}`,
  },

  {
    name: 'a FIFO in a cache directory',
    presets: ['development'],
    script: (t) =>
      python(
        `os.write(os.open("${t.home}/.cache/ctl/fifo", os.O_WRONLY | os.O_NONBLOCK), b"intruder"); escaped()`,
      ),
  },

  // The network.
  {
    name: 'TCP to the host’s loopback',
    presets: SHUT,
    script: (t) =>
      `(exec 3<>/dev/tcp/127.0.0.1/${t.tcpPort}) 2>/dev/null && echo ESCAPED; (exec 3<>/dev/tcp/localhost/${t.tcpPort}) 2>/dev/null && echo ESCAPED; true`,
  },
  {
    name: 'TCP to every address of the host',
    presets: OFF,
    script: (t) =>
      python(
        `addresses = ["127.0.0.1", "127.1.2.3", "0.0.0.0", "::1", "::ffff:127.0.0.1"] + [a[4][0] for a in socket.getaddrinfo("localhost", 0)]\nfor a in addresses:\n    try: socket.create_connection((a, ${t.tcpPort}), 1); escaped(a)\n    except OSError: pass`,
      ),
  },
  {
    name: 'interfaces other than loopback',
    presets: SHUT,
    script: () =>
      'while read -r name rest; do case $name in lo:*|Inter-*|face*) ;; *) echo ESCAPED $name;; esac; done < /proc/net/dev',
  },
  {
    name: 'DNS',
    presets: OFF,
    script: () =>
      python(
        's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nfor server in ("127.0.0.53", "192.0.2.1"):\n    try:\n        s.connect((server, 53)); s.send(b"x")\n        if not server.startswith("127"): escaped(server)\n    except OSError: pass',
      ),
  },
  {
    name: 'UDP and a broadcast',
    presets: OFF,
    script: () =>
      python(
        's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)\nfor a in ("192.0.2.1", "255.255.255.255", "224.0.0.1"):\n    try: s.sendto(b"x", (a, 9)); escaped(a)\n    except OSError: pass',
      ),
  },
  family('vsock', 'socket.socket(40, socket.SOCK_STREAM)'),
  family('packet sockets', 'socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)'),
  family('raw sockets', 'socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'),
  family('SOCK_PACKET, which the kernel turns into AF_PACKET', 'socket.socket(socket.AF_INET, 10, 0)'),
  family('netfilter by netlink', 'socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)'),
  family('audit by netlink', 'socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)'),
  family('kernel events by netlink', 'socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)'),
  family('the kernel’s cryptography', 'socket.socket(38, socket.SOCK_SEQPACKET)'),
  family('Bluetooth', 'socket.socket(31, socket.SOCK_RAW)'),
  family('TIPC', 'socket.socket(30, socket.SOCK_STREAM)'),
  {
    name: 'an interface or a route is added',
    script: () =>
      'ip link add mcp0 type dummy 2>/dev/null && echo ESCAPED; ip route add 192.0.2.0/24 dev lo 2>/dev/null && echo ESCAPED; ip link set lo down 2>/dev/null && echo ESCAPED; true',
  },
  {
    name: 'network namespaces by the file system',
    script: () => 'ls /run/netns /var/run/netns 2>/dev/null | grep -q . && echo ESCAPED; true',
  },

  // The terminal that the server was started from.
  {
    name: 'the server’s terminal',
    presets: ALL_PRESETS,
    script: () =>
      '(: > /dev/tty) 2>/dev/null && echo ESCAPED; [ -t 0 ] || [ -t 1 ] || [ -t 2 ] && echo ESCAPED; for f in /dev/pts/[0-9]*; do [ -e $f ] && echo ESCAPED $f; done; true',
  },
  {
    name: 'typing into the terminal (TIOCSTI)',
    script: () =>
      python(
        'for name in ("/dev/tty", "/dev/console", "/proc/self/fd/0", "/proc/self/fd/2", "/dev/pts/0", "/dev/pts/1"):\n    for request in (0x5412, 0x541c, 0x100005412 - (1 << 32)):\n        try: fcntl.ioctl(os.open(name, os.O_RDWR | os.O_NOCTTY), request, b"x"); escaped(name)\n        except OSError: pass',
      ),
  },
  {
    name: 'typing into a terminal of its own',
    script: () =>
      python(
        'master, slave = os.openpty()\nfor request in (0x5412, 0x541c):\n    try: fcntl.ioctl(slave, request, b"x"); escaped(request)\n    except OSError: pass',
      ),
  },

  // Other ways to be started by somebody.
  {
    name: 'systemd, at and cron',
    script: () =>
      'systemd-run --user true 2>/dev/null && echo ESCAPED; systemd-run true 2>/dev/null && echo ESCAPED; echo true | at now 2>/dev/null && echo ESCAPED; systemctl --user start x 2>/dev/null && echo ESCAPED; loginctl enable-linger 2>/dev/null && echo ESCAPED; true',
  },
  {
    name: 'a desktop is told to open something',
    script: () =>
      'dbus-send --session --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames 2>/dev/null && echo ESCAPED; env | grep -q "^DBUS_SESSION_BUS_ADDRESS=.*MUST_NOT" && echo ESCAPED; true',
  },
];

/** Where only allowed programs exist: none of these is on a list of ours. */
export const PROGRAMS: readonly Attempt[] = [
  ...[
    'python3',
    'perl',
    'curl',
    'wget',
    'gcc',
    'mount',
    'su',
    'ssh',
    'dd',
    'nsenter',
    'git',
    'cat',
    'rm',
  ].map(
    (name): Attempt => ({
      name: `the program ${name}`,
      presets: ['production', 'minimal'],
      script: () =>
        `type -P ${name} >/dev/null && echo ESCAPED; for d in /bin /usr/bin /usr/sbin /sbin /usr/local/bin /usr/libexec /opt/bin; do [ -e $d/${name} ] && echo ESCAPED $d; done; true`,
    }),
  ),
  {
    name: 'more programs than a handful',
    presets: ['production', 'minimal'],
    script: () =>
      'n=0; for f in /bin/* /sbin/* /usr/bin/* /usr/sbin/* /usr/local/bin/* /usr/local/sbin/*; do [ -x "$f" ] && n=$((n + 1)); done; [ $n -gt 40 ] && echo ESCAPED $n; true',
  },
];
