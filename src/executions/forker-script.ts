/**
 * The forker's program. In Perl, which is on nearly every Linux machine, takes 5 MB, and has what shells lack: exact wait
 * statuses, descriptors and setsid without another program.
 */
import { SANDBOX_SCRIPT } from './forker-sandbox-script.ts';

const SCRIPT = String.raw`
# Forks on behalf of the server, whose own fork would copy the page tables of a large process while everything else
# waits. Requests come on descriptor 3, reports go to 4:
#   "p id pid start"   the program is running           "x pid status microseconds KiB"  a child has ended
#   "e id step errno"  it could not be started          "r word [pid]"  said by a program that is ready; in a copy of
#                                                       a sandbox, with the pid of the first process there
#   "m id 0 fd fd ..." pipes that were asked for, each with its reading and its writing end; "m id errno" if not
# Ends with the server, whose end of descriptor 3 is then closed. Orphans of its children become its own children.
use strict;
my ($SIGPROCMASK, $SIGNALFD, $SETSID, $PRCTL, $DUP3, $PRLIMIT, $PIPE2, $FCNTL, $CLOSE, $SETNS, $UNSHARE, $MOUNT, $CAPSET, $WAIT4, $CLOSE_RANGE, $EXIT_GROUP, $EXECVE, @INSTANCES) =
  map { $_ + 0 } @ARGV;
my ($RLIMIT_FSIZE, $RLIMIT_DATA, $RLIMIT_CORE, $RLIMIT_NPROC) = (1, 2, 4, 6);
my ($PDEATHSIG, $DUMPABLE, $SIGKILL, $NONBLOCK, $CLOEXEC, $F_SETFL, $DUPFD_CLOEXEC, $EINVAL) = (1, 4, 9, 04000, 02000000, 4, 1030, 22);
my ($NEWNS, $NEWCGROUP, $NEWUTS, $NEWIPC, $NEWUSER, $NEWPID, $NEWNET) =
  (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000);
my $INSTANCES_FILE = 'sys/user/max_inotify_instances';
$0 = 'mcp-shell-server: forker';
# Perl ignores it, and a command would too.
$SIG{FPE} = 'DEFAULT';

# Ours lie above those of a program, so that whatever is opened for it can be put in its place without a look.
sub raised {
  my ($fd, $mode) = @_;
  open(my $low, "$mode&=", $fd) or exit 70;
  my $high = fcntl($low, $DUPFD_CLOEXEC, 64) or exit 70;
  open(my $handle, "$mode&=", $high + 0) or exit 70;
  return ($handle, $low);
}
my ($in, $was_in) = raised(3, '<');
my ($out, $was_out) = raised(4, '>');
close $was_in;
close $was_out;
my @low;
do { open(my $null, '<', '/dev/null') or exit 70; push @low, $null } until fileno($low[-1]) >= 9;

my $only_chld = pack('Q', 1 << 16);
my $nothing = pack('Q', 0);
syscall($SIGPROCMASK, 0, $only_chld, 0, 8) == 0 or exit 71;
my $signals_fd = syscall($SIGNALFD, -1, $only_chld, 8, 0x80800);
exit 71 if $signals_fd < 0;
open(my $signals, '<&=', $signals_fd) or exit 71;
syscall($PRCTL, 36, 1, 0, 0, 0) == 0 or exit 71;

my $want = '';
vec($want, fileno($in), 1) = 1;
vec($want, $signals_fd, 1) = 1;
my $forker = $$;
my %starting;    # by pid: [the pipe that its exec closes, id]
# Pipes that no program has yet. Their ends lie above everything else. The server may give one up without a word, so
# that there are only so many, and the oldest go.
my ($PIPES_FROM, $MAX_PIPES) = (256, 512);
my ($made, %other_end, %made_as, @oldest) = (0);

sub report { syswrite($out, $_[0]) if $_[0] ne '' }

# Whether the program is running, or why not: what it wrote before its exec failed.
sub settle {
  my ($pid) = @_;
  my ($pipe, $id, $start) = @{ delete $starting{$pid} };
  vec($want, fileno($pipe), 1) = 0;
  sysread($pipe, my $problem, 64);
  close $pipe;
  return $problem eq '' ? "p $id $pid $start\n" : "e $id $problem\n";
}

sub ended {
  my ($pid, $status, $used) = @_;
  my ($user, $user_us, $system, $system_us, $most) = unpack('q5', $used);
  my $us = ($user + $system) * 1e6 + $user_us + $system_us;
  return "x $pid $status $us $most\n";
}

sub reap {
  sysread($signals, my $ignored, 4096);
  my $said = '';
  my ($ended, $used) = (pack('l', 0), "\0" x 144);
  while ((my $pid = syscall($WAIT4, -1, $ended, 1, $used)) > 0) {
    $said .= settle($pid) if $starting{$pid};
    $said .= ended($pid, unpack('l', $ended), $used);
  }
  report($said);
}

# Without Perl's buffers, which ask the kernel three things about each file.
sub start_time {
  my ($pid) = @_;
  open(my $file, '<:unix', "/proc/$pid/stat") or return 0;
  sysread($file, my $stat, 4096);
  return (split / /, substr($stat, rindex($stat, ')') + 2))[19];
}

sub become {
  my ($failure, $directory, $report_fd, $file_bytes, $data_bytes, $must_join, @rest) = @_;
  my $fail = sub { syswrite($failure, "$_[0] " . ($! + 0)); kill 'KILL', $$; exit 1 };
  my $take = sub { splice(@rest, 0, shift @rest) };
  syscall($SIGPROCMASK, 2, $nothing, 0, 8);
  syscall($SETSID);
  # A process that dies before the command runs takes it along; a sandbox ends with us later, too.
  syscall($PRCTL, $PDEATHSIG, $SIGKILL, 0, 0, 0);
  kill 'KILL', $$ if getppid() != $forker;
  for my $group ($take->()) {
    my $file;
    my $joined = open($file, '>:unix', $group) && syswrite($file, '0');
    $fail->('join') if $must_join && !$joined;
  }
  my @fields = $take->();
  my (@kept, @done);
  while (my ($fd, $access, $unlinked, $path) = splice(@fields, 0, 4)) {
    if (my $end = pipe_end($path)) {
      syscall($DUP3, $end, $fd + 0, 0) >= 0 or $fail->('open');
      next;
    }
    # Without waiting for the other end of a FIFO, which is there unless the server has gone.
    sysopen(my $handle, $path, ($access + 0) | $NONBLOCK) or $fail->('open');
    fcntl($handle, $F_SETFL, $access + 0);
    push @kept, $handle;
    syscall($DUP3, fileno($handle), $fd + 0, 0) >= 0 or $fail->('open');
    push @done, $path if $unlinked;
  }
  unlink @done;
  # A reader sees the end of its pipe only when nobody else can write to it.
  syscall($CLOSE_RANGE, $PIPES_FROM, 0xffffffff, 0) == 0 or map { syscall($CLOSE, $_ + 0) } keys %other_end;
  if ($report_fd ne '') { syscall($DUP3, fileno($out), $report_fd + 0, 0) >= 0 or $fail->('open') }
  if ($file_bytes ne '') {
    my ($most, $none) = (pack('QQ', $file_bytes, $file_bytes), pack('QQ', 0, 0));
    syscall($PRLIMIT, 0, $RLIMIT_FSIZE, $most, 0) == 0 or $fail->('limit');
    syscall($PRLIMIT, 0, $RLIMIT_CORE, $none, 0) == 0 or $fail->('limit');
  }
  if ($data_bytes ne '') {
    my $was = pack('QQ', 0, 0);
    syscall($PRLIMIT, 0, $RLIMIT_DATA, 0, $was) == 0 or $fail->('limit');
    my $most = pack('QQ', $data_bytes, (unpack('QQ', $was))[1]);
    syscall($PRLIMIT, 0, $RLIMIT_DATA, $most, 0) == 0 or $fail->('limit');
  }
  syscall($PRCTL, $PDEATHSIG, 0, 0, 0, 0) if $report_fd eq '';
  my @template = $take->();
  my @argv = $take->();
  if (@template) {
    my ($word, $handoff, $input, $processes, @sandbox) = @template;
    my $init = enter($fail, @sandbox);
    if (!@argv) {
      close $failure;
      announce($report_fd, "$word $init");
      await_command($handoff, $input);
    }
    limit_processes($processes) or $fail->('limit');
    announce($report_fd, "$word $init");
  }
  chdir $directory or $fail->('chdir');
  execute(\@argv, \@rest);
  $fail->('exec');
}

# Returns where it fails. Perl would first set each variable; it is asked for what the kernel does not do: to look for a
# name on PATH, and to give a script without a first line to a shell.
sub execute {
  my ($argv, $environment) = @_;
  my $end = pack('Q', 0);
  syscall($EXECVE, $argv->[0], pack('p*', @$argv) . $end, pack('p*', @$environment) . $end) if $argv->[0] =~ m{/};
  %ENV = map { split(/=/, $_, 2) } @$environment;
  { no warnings; exec { $argv->[0] } @$argv }
}

# Tells that it is there, once.
sub announce {
  my ($fd, $words) = @_;
  open(my $ready, '>&=', $fd + 0) or exit 126;
  syswrite($ready, "r $words\n");
  close $ready;
}

sub limit_processes {
  my ($processes) = @_;
  my $most = pack('QQ', $processes || 0, $processes || 0);
  return $processes eq '' || syscall($PRLIMIT, 0, $RLIMIT_NPROC, $most, 0) == 0;
}

# Reads the command from the hand-off descriptor, to the end, and becomes it with nothing else open. Where the server dies
# before the last word, nothing runs.
sub await_command {
  my ($handoff, $input) = @_;
  open(my $from, '<&=', $handoff + 0) or exit 126;
  my $text = '';
  1 while sysread($from, $text, 1 << 16, length $text);
  close $from;
  my ($directory, $has_input, $stderr, $keeps_state, $processes, $count, @rest) = split(/\0/, $text, -1);
  exit 126 if !@rest || pop(@rest) ne 'end';
  my @argv = splice(@rest, 0, $count);
  syscall($DUP3, $input + 0, 0, 0) if $has_input;
  syscall($CLOSE, $input + 0);
  syscall($CLOSE, 3) if !$keeps_state;
  if ($stderr eq 'merged') { syscall($DUP3, 1, 2, 0) }
  if ($stderr eq 'discarded') {
    open(my $null, '>', '/dev/null') or exit 126;
    syscall($DUP3, fileno($null), 2, 0);
  }
  limit_processes($processes) or exit 126;
  my $say = sub { syswrite(STDERR, "mcp-shell-server: $_[0]: $!\n") };
  chdir $directory or $say->($directory), exit 126;
  execute(\@argv, \@rest);
  my $code = $! == 2 ? 127 : 126;
  $say->($argv[0]);
  exit $code;
}

sub make_pipes {
  my ($id, $count) = @_;
  my @ends;
  while ($count-- > 0) {
    my $low = pack('l2', 0, 0);
    return report("m $id " . ($! + 0) . "\n") if syscall($PIPE2, $low, $CLOEXEC) != 0;
    my ($read, $write) = map { syscall($FCNTL, $_, $DUPFD_CLOEXEC, $PIPES_FROM) } unpack('l2', $low);
    my $errno = $! + 0;
    syscall($CLOSE, $_) for unpack('l2', $low);
    if ($read < 0 || $write < 0) {
      syscall($CLOSE, $_) for grep { $_ >= 0 } $read, $write;
      return report("m $id $errno\n");
    }
    @other_end{$read, $write} = ($write, $read);
    $made_as{$read} = ++$made;
    push @oldest, [$read, $made];
    push @ends, $read, $write;
  }
  while (@oldest > $MAX_PIPES) {
    my ($read, $number) = @{ shift @oldest };
    let_go($read) if ($made_as{$read} // 0) == $number;
  }
  report("m $id 0 @ends\n");
}

# The number of an end that this path means; undefined where it is another path.
sub pipe_end {
  my ($path) = @_;
  return $path =~ m{^/proc/$forker/fd/(\d+)\z} && exists $other_end{$1} ? $1 + 0 : undef;
}

sub let_go {
  my ($end) = @_;
  return if !exists $other_end{$end};
  my $other = delete $other_end{$end};
  delete $other_end{$other};
  delete @made_as{$end, $other};
  syscall($CLOSE, $_ + 0) for $end, $other;
}

# Of an order: its descriptors come after the cgroups, four words each.
sub pipes_of {
  my $at = 5 + 1 + $_[5];
  return map { pipe_end($_[$at + 4 * $_]) // () } 1 .. $_[$at] / 4;
}

sub start {
  my ($id, @order) = @_;
  pipe(my $read, my $write) or return report("e $id fork " . ($! + 0) . "\n");
  my $pid = fork;
  become($write, @order) if defined $pid && $pid == 0;
  my $errno = $! + 0;
  let_go($_) for pipes_of(@order);
  return report("e $id fork $errno\n") if !defined $pid;
  close $write;
  $starting{$pid} = [$read, $id, start_time($pid)];
  vec($want, fileno($read), 1) = 1;
}

my $buffer = '';
while (1) {
  next if select(my $got = $want, undef, undef, undef) < 0;
  report(join '', map { settle($_) } grep { vec($got, fileno($starting{$_}[0]), 1) } keys %starting);
  reap() if vec($got, $signals_fd, 1);
  next if !vec($got, fileno($in), 1);
  last if !sysread($in, $buffer, 1 << 18, length $buffer);
  while (length $buffer >= 4) {
    my $length = unpack('V', $buffer);
    last if length $buffer < 4 + $length;
    my $frame = substr($buffer, 4, $length);
    substr($buffer, 0, 4 + $length) = '';
    my ($kind, @words) = split(/\0/, $frame, -1);
    $kind eq 'm' ? make_pipes(@words) : start(@words);
  }
}
`;

export const FORKER_SCRIPT = `${SCRIPT}${SANDBOX_SCRIPT}`;
