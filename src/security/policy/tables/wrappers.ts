/** Programs that run another one, and how they read their own options before it. Without a row they are opaque. */
import { list } from '../../list.ts';
import type { OptionSpec } from '../options.ts';

export interface Wrapper extends OptionSpec {
  readonly names: readonly string[];
  /** Operands of its own before the command: `timeout 5 …`, `chroot /x …`. */
  readonly operands?: number;
  /** `NAME=value` before the command goes into its environment. */
  readonly assignments?: true;
  /** Options whose value is a text for a shell. */
  readonly textOptions?: readonly string[];
  /** With one of these the words that follow are joined and handed to a shell. */
  readonly shellOptions?: readonly string[];
  /** The words are always joined for a shell, unless one of `argvOptions` is there. */
  readonly joins?: true;
  readonly argvOptions?: readonly string[];
  /** With one of these nothing is run. */
  readonly idleOptions?: readonly string[];
  /** The words behind `--` are arguments of this shell. */
  readonly shell?: string;
  /** Of the shell itself: what it runs acts on this shell. */
  readonly isBuiltin?: true;
  /** Commands that are found in it, for the test of this table. */
  readonly examples: Readonly<Record<string, readonly string[]>>;
}

export const WRAPPERS: readonly Wrapper[] = [
  {
    names: ['env', 'genv'],
    short: 'i0u:C:S:va:P:',
    long: list(
      'ignore-environment null unset= chdir= split-string= debug argv0= block-signal=? default-signal=? ignore-signal=? list-signal-handling help version',
    ),
    assignments: true,
    examples: {
      'env A=1 rm x': ['rm x'],
      'env -i -u B rm x': ['rm x'],
      'env -S "rm x"': ['rm x'],
      'env --unset=A rm x': ['rm x'],
    },
  },
  {
    names: ['timeout', 'gtimeout'],
    short: 'fk:s:vp',
    long: list('foreground kill-after= signal= preserve-status verbose help version'),
    operands: 1,
    examples: { 'timeout -k 5 10s rm x': ['rm x'], 'timeout --sig=KILL 1 rm x': ['rm x'] },
  },
  {
    names: ['nice'],
    short: 'n:',
    long: list('adjustment= help version'),
    numbers: true,
    examples: { 'nice -n 5 rm x': ['rm x'], 'nice -10 rm x': ['rm x'], 'nice rm x': ['rm x'] },
  },
  { names: ['nohup'], short: '', long: list('help version'), examples: { 'nohup rm x': ['rm x'] } },
  {
    names: ['setsid'],
    short: 'cfwVh',
    long: list('ctty fork wait help version'),
    examples: { 'setsid -f rm x': ['rm x'] },
  },
  {
    names: ['stdbuf'],
    short: 'i:o:e:',
    long: list('input= output= error= help version'),
    examples: { 'stdbuf -oL rm x': ['rm x'], 'stdbuf -o L rm x': ['rm x'] },
  },
  {
    names: ['ionice'],
    short: 'c:n:tp:P:u:hV',
    long: list('class= classdata= pid= pgid= uid= ignore help version'),
    idleOptions: list('p P u pid pgid uid'),
    examples: { 'ionice -c2 -n7 rm x': ['rm x'] },
  },
  {
    names: ['chrt'],
    short: 'bdfiormRT:P:D:apvhV',
    operands: 1,
    idleOptions: ['p', 'm'],
    examples: { 'chrt -f 10 rm x': ['rm x'] },
  },
  {
    names: ['taskset'],
    short: 'apchV',
    operands: 1,
    idleOptions: ['p'],
    examples: { 'taskset -c 0,1 rm x': ['rm x'] },
  },
  {
    names: ['time', 'gtime'],
    short: 'af:o:pqvV',
    long: list('append format= output= portability quiet verbose help version'),
    examples: { '\\time -f %e rm x': ['rm x'], '/usr/bin/time -v rm x': ['rm x'] },
  },
  {
    names: ['command'],
    short: 'pvV',
    idleOptions: ['v', 'V'],
    isBuiltin: true,
    examples: { 'command rm x': ['rm x'], 'command -p rm x': ['rm x'] },
  },
  { names: ['builtin'], short: '', isBuiltin: true, examples: { "builtin eval 'rm x'": ['rm x'] } },
  { names: ['exec'], short: 'cla:', isBuiltin: true, examples: { 'exec -a ls rm x': ['rm x'] } },
  {
    names: ['sudo'],
    short: 'AbC:D:Eeg:Hh:iKklnPp:R:r:SsT:t:U:u:Vv',
    long: list(
      'askpass background close-from= chdir= preserve-env=? edit group= set-home host= login remove-timestamp reset-timestamp list non-interactive preserve-groups prompt= chroot= role= stdin shell type= command-timeout= other-user= user= validate help version',
    ),
    assignments: true,
    shellOptions: ['s', 'i', 'shell', 'login'],
    idleOptions: list('l list v validate k K e edit remove-timestamp reset-timestamp'),
    examples: {
      'sudo -u root rm x': ['rm x'],
      'sudo A=1 rm x': ['rm x'],
      "sudo -s 'rm x'": ['rm x'],
      'sudo -nE -- rm x': ['rm x'],
    },
  },
  { names: ['doas'], short: 'C:Lnsu:', examples: { 'doas -u root rm x': ['rm x'] } },
  {
    names: ['pkexec'],
    short: 'u:',
    long: list('user= disable-internal-agent keep-cwd help version'),
    examples: { 'pkexec rm x': ['rm x'] },
  },
  {
    names: ['su'],
    short: 'c:fg:G:lmpPs:w:hV',
    long: list(
      'command= session-command= fast group= supp-group= login preserve-environment pty shell= whitelist-environment= help version',
    ),
    textOptions: ['c', 'command', 'session-command'],
    examples: { "su -c 'rm x' root": ['rm x'], "su - root -c 'rm x'": ['rm x'] },
  },
  {
    names: ['runuser'],
    short: 'u:c:fg:G:lmpPs:w:hV',
    long: list(
      'user= command= session-command= fast group= supp-group= login preserve-environment pty shell= help version',
    ),
    textOptions: ['c', 'command', 'session-command'],
    examples: { 'runuser -u me -- rm x': ['rm x'], "runuser -l me -c 'rm x'": ['rm x'] },
  },
  {
    names: ['chroot'],
    short: '',
    long: list('groups= userspec= skip-chdir help version'),
    operands: 1,
    examples: { 'chroot --userspec=0 /mnt rm x': ['rm x'] },
  },
  {
    names: ['unshare'],
    short: 'm::u::i::n::p::C::U::T::frcR:w:S:G:hVl:',
    long: list(
      'mount=? uts=? ipc=? net=? pid=? cgroup=? user=? time=? fork map-root-user map-current-user map-auto map-user= map-group= map-users= map-groups= kill-child=? mount-proc=? propagation= setgroups= keep-caps root= wd= setuid= setgid= monotonic= boottime= help version',
    ),
    examples: { 'unshare -r -n rm x': ['rm x'] },
  },
  {
    names: ['nsenter'],
    short: 'at:m::u::i::n::p::C::U::T::S:G:r::w::W:eFZhV',
    long: list(
      'all target= mount=? uts=? ipc=? net=? pid=? cgroup=? user=? time=? setuid= setgid= preserve-credentials root=? wd=? wdns= no-fork follow-context env help version',
    ),
    examples: { 'nsenter -t 1 -m rm x': ['rm x'] },
  },
  {
    names: ['setpriv'],
    short: 'dhV',
    long: list(
      'clear-groups dump groups= inh-caps= keep-groups init-groups list-caps no-new-privs pdeathsig= rgid= ruid= regid= reuid= egid= euid= reset-env securebits= ambient-caps= bounding-set= selinux-label= apparmor-profile= help version',
    ),
    examples: { 'setpriv --reuid=1 --clear-groups rm x': ['rm x'] },
  },
  {
    names: ['prlimit'],
    short: 'c::d::e::f::i::l::m::n::q::r::s::t::u::v::x::y::p:o:hV',
    long: list(
      'core=? data=? nice=? fsize=? sigpending=? memlock=? rss=? nofile=? msgqueue=? rtprio=? stack=? cpu=? nproc=? as=? locks=? rttime=? pid= output= noheadings raw verbose help version',
    ),
    idleOptions: ['p', 'pid'],
    examples: { 'prlimit --core=0 rm x': ['rm x'] },
  },
  {
    names: ['flock'],
    short: 'c:eE:FnosuvwW:hV',
    long: list(
      'command= conflict-exit-code= exclusive no-fork nonblock nb close shared unlock verbose wait= timeout= help version',
    ),
    operands: 1,
    textOptions: ['c', 'command'],
    examples: { 'flock /tmp/l rm x': ['rm x'], "flock -n /tmp/l -c 'rm x'": ['rm x'] },
  },
  {
    names: ['watch'],
    short: 'bcCd::egn:pq:r:tvwxhv',
    long: list(
      'beep color no-color differences=? errexit chgexit interval= precise equexit= no-rerun no-title no-wrap exec help version',
    ),
    joins: true,
    argvOptions: ['x', 'exec'],
    examples: {
      'watch -n 1 rm x': ['rm x'],
      "watch 'rm x; date'": ['rm x', 'date'],
      'watch -x rm x': ['rm x'],
    },
  },
  {
    names: ['script'],
    short: 'aB:c:eE:fI:m:O:qT:to:hV',
    long: list(
      'append command= echo= flush force log-in= log-io= log-out= log-timing= logging-format= output-limit= quiet return timing=? help version',
    ),
    textOptions: ['c', 'command'],
    operands: 1,
    examples: { "script -qc 'rm x' /dev/null": ['rm x'] },
  },
  {
    names: ['strace', 'ltrace'],
    short: 'a:A:b:cCdDe:E:fFhiI:kno:O:p:P:qrs:S:tTu:U:vVwxX:yzZ',
    long: list('follow-forks output= trace= string-limit= summary summary-only quiet=? help version'),
    idleOptions: ['p'],
    examples: { 'strace -f -o out rm x': ['rm x'] },
  },
  {
    names: ['busybox', 'toybox'],
    short: '',
    long: list('list list-full install help'),
    idleOptions: list('list list-full help install'),
    examples: { 'busybox rm x': ['rm x'] },
  },
  {
    names: list('setarch linux32 linux64 x86_64 i386'),
    short: 'BFILRSTXZhvV:',
    long: list(
      '32bit fdpic-funcptrs short-inode addr-compat-layout addr-no-randomize whole-seconds sticky-timeouts read-implies-exec mmap-page-zero 3gb 4gb uname-2.6 verbose list help version',
    ),
    examples: { 'linux64 -R rm x': ['rm x'] },
  },
  {
    names: ['numactl'],
    short: 'i:N:m:C:p:l',
    long: list('interleave= cpunodebind= membind= physcpubind= preferred= localalloc help version'),
    examples: { 'numactl -N 0 rm x': ['rm x'] },
  },
  {
    names: list(
      'fakeroot eatmydata chronic catchsegv unbuffer proxychains proxychains4 torsocks dbus-run-session tini dumb-init systemd-cat annotate-output',
    ),
    short: '',
    examples: { 'fakeroot rm x': ['rm x'] },
  },
  { names: ['caffeinate'], short: 'disut:w:', examples: { 'caffeinate -i rm x': ['rm x'] } },
  { names: ['gosu', 'su-exec', 'faketime'], short: '', operands: 1, examples: { 'gosu me rm x': ['rm x'] } },
  {
    names: ['xvfb-run'],
    short: 'ae:f:hln:p:s:w:',
    long: list('auto-servernum server-args= server-num= wait= help'),
    examples: { 'xvfb-run -a rm x': ['rm x'] },
  },
  { names: ['sshpass'], short: 'f:d:p:ehvV', examples: { 'sshpass -e rm x': ['rm x'] } },
  {
    names: ['ssh'],
    short: '1246AaB:b:CD:c:E:e:F:fGgI:i:J:KkL:l:MmNnO:o:p:Q:qR:S:sTtVvW:w:XxYy',
    operands: 1,
    joins: true,
    examples: { "ssh -p 22 host 'rm x'": ['rm x'], 'ssh host rm x': ['rm x'] },
  },
  {
    names: ['systemd-run'],
    short: 'H:M:u:p:E:tPqrGdS',
    long: list(
      'user scope unit= property= description= slice= setenv= working-directory= pty pipe wait collect quiet uid= gid= nice= send-sighup service-type= shell same-dir help version',
    ),
    examples: { 'systemd-run --user --scope rm x': ['rm x'] },
  },
  {
    names: ['choom'],
    short: 'n:p:hV',
    long: list('adjust= pid= help version'),
    idleOptions: ['p', 'pid'],
    examples: { 'choom -n 0 -- rm x': ['rm x'] },
  },
  {
    names: ['sg'],
    short: 'c:',
    operands: 1,
    joins: true,
    textOptions: ['c'],
    examples: { "sg root 'rm x'": ['rm x'], "sg root -c 'rm x'": ['rm x'] },
  },
  {
    names: ['ssh-agent'],
    short: 'a:cDdE:kO:P:st:TUuVx',
    idleOptions: ['k'],
    examples: { 'ssh-agent -t 5 rm x': ['rm x'] },
  },
  {
    names: ['valgrind'],
    short: 'dhqv',
    long: list(
      'tool= help help-debug version quiet verbose trace-children=? trace-children-skip= child-silent-after-fork=? vgdb=? vgdb-error= track-fds=? time-stamp=? log-fd= log-file= xml=? xml-file= demangle=? num-callers= error-limit=? error-exitcode= exit-on-first-error=? suppressions= gen-suppressions= leak-check=? leak-resolution= show-leak-kinds= errors-for-leak-kinds= show-reachable=? undef-value-errors=? track-origins=? keep-stacktraces= massif-out-file= callgrind-out-file= cachegrind-out-file=',
    ),
    examples: { 'valgrind --leak-check=full -q rm x': ['rm x'] },
  },
  {
    names: ['capsh'],
    short: '',
    long: list(
      'print drop= caps= user= uid= gid= groups= keep= inh= addamb= delamb= noamb noenv chroot= secbits= mode= killit= forkfor= quiet shell= current strict supports= has-p= has-i= has-a= has-b= is-uid= is-gid= help',
    ),
    shell: 'bash',
    examples: { "capsh --drop=all -- -c 'rm x'": ['rm x'] },
  },
  {
    names: list(
      'ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-linux-armhf.so.3 ld-musl-x86_64.so.1 ld-musl-aarch64.so.1',
    ),
    short: '',
    long: list(
      'list verify inhibit-cache library-path= inhibit-rpath= glibc-hwcaps-prepend= glibc-hwcaps-mask= audit= preload= argv0= list-tunables list-diagnostics help version',
    ),
    idleOptions: list('list verify list-tunables list-diagnostics'),
    examples: { 'ld.so --preload x rm x': ['rm x'], '/lib64/ld-linux-x86-64.so.2 rm x': ['rm x'] },
  },
  { names: ['entr'], short: 'acdnprszx', shellOptions: ['s'], examples: { 'entr -c rm x': ['rm x'] } },
];

export const SHELL_OPTIONS: OptionSpec = {
  short: 'abcdefghiklmnprstuvxBCDEHPTo:O:',
  long: list(
    'norc noprofile posix login verbose restricted rcfile= init-file= debugger dump-strings dump-po-strings noediting help version',
  ),
};

export const XARGS_OPTIONS: OptionSpec = {
  short: '0a:d:E:e::I:i::J:L:l::n:oP:prR:S:s:tx',
  long: list(
    'null arg-file= delimiter= eof=? replace=? max-lines=? max-args= max-procs= interactive no-run-if-empty max-chars= show-limits verbose exit process-slot-var= open-tty help version',
  ),
};
