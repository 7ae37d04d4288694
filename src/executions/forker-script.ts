/**
 * The forker's program. In Perl, which is on nearly every Linux machine, takes 5 MB, and has what shells lack: exact wait
 * statuses, descriptors and setsid without another program.
 */
export const FORKER_SCRIPT = String.raw`
# Forks on behalf of the server, whose own fork would copy the page tables of a large process while everything else
# waits. Requests come on descriptor 3, reports go to 4:
#   "p id pid start"   the program is running           "x pid status"  a child has ended (as waitpid says)
#   "e id step errno"  it could not be started          "r word"        said by a program that is ready
#   "m id errno"       the FIFOs that were asked for are made (0), or not
# Ends with the server, whose end of descriptor 3 is then closed. Orphans of its children become its own children.
use strict;
my ($SIGPROCMASK, $SIGNALFD, $SETSID, $PRCTL, $DUP3, $PRLIMIT, $MKNODAT) = map { $_ + 0 } @ARGV;
my ($RLIMIT_FSIZE, $RLIMIT_CORE) = (1, 4);
my ($PDEATHSIG, $SIGKILL, $NONBLOCK, $F_SETFL) = (1, 9, 04000, 4);
$0 = 'mcp-shell-server: forker';

# Ours lie above those of a program, so that whatever is opened for it can be put in its place without a look.
sub raised {
  my ($fd, $mode) = @_;
  open(my $low, "$mode&=", $fd) or exit 70;
  my $high = fcntl($low, 1030, 64) or exit 70;
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

sub reap {
  sysread($signals, my $ignored, 4096);
  my $said = '';
  while ((my $pid = waitpid(-1, 1)) > 0) {
    my $status = $?;
    $said .= settle($pid) if $starting{$pid};
    $said .= "x $pid $status\n";
  }
  report($said);
}

sub start_time {
  my ($pid) = @_;
  open(my $file, '<', "/proc/$pid/stat") or return 0;
  my $stat = <$file>;
  return (split / /, substr($stat, rindex($stat, ')') + 2))[19];
}

sub become {
  my ($failure, $directory, $report_fd, $file_bytes, $must_join, @rest) = @_;
  my $fail = sub { syswrite($failure, "$_[0] " . ($! + 0)); kill 'KILL', $$ };
  my $take = sub { splice(@rest, 0, shift @rest) };
  syscall($SIGPROCMASK, 2, $nothing, 0, 8);
  syscall($SETSID);
  # Whoever dies before the command runs takes it along; a sandbox ends with us later, too.
  syscall($PRCTL, $PDEATHSIG, $SIGKILL, 0, 0, 0);
  kill 'KILL', $$ if getppid() != $forker;
  for my $group ($take->()) {
    my $file;
    my $joined = open($file, '>', $group) && syswrite($file, '0');
    $fail->('join') if $must_join && !$joined;
  }
  my @fields = $take->();
  my (@kept, @done);
  while (my ($fd, $access, $unlinked, $path) = splice(@fields, 0, 4)) {
    # Without waiting for the other end of a FIFO, which is there unless the server has gone.
    sysopen(my $handle, $path, ($access + 0) | $NONBLOCK) or $fail->('open');
    fcntl($handle, $F_SETFL, $access + 0);
    push @kept, $handle;
    syscall($DUP3, fileno($handle), $fd + 0, 0) >= 0 or $fail->('open');
    push @done, $path if $unlinked;
  }
  unlink @done;
  if ($report_fd ne '') { syscall($DUP3, fileno($out), $report_fd + 0, 0) >= 0 or $fail->('open') }
  if ($file_bytes ne '') {
    my ($most, $none) = (pack('QQ', $file_bytes, $file_bytes), pack('QQ', 0, 0));
    syscall($PRLIMIT, 0, $RLIMIT_FSIZE, $most, 0) == 0 or $fail->('limit');
    syscall($PRLIMIT, 0, $RLIMIT_CORE, $none, 0) == 0 or $fail->('limit');
  }
  syscall($PRCTL, $PDEATHSIG, 0, 0, 0, 0) if $report_fd eq '';
  my @argv = $take->();
  chdir $directory or $fail->('chdir');
  %ENV = map { split(/=/, $_, 2) } @rest;
  { no warnings; exec { $argv[0] } @argv }
  $fail->('exec');
}

sub make_fifos {
  my ($id, @paths) = @_;
  my ($here, $mode) = (-100, 010600);
  for my $path (@paths) {
    return report("m $id " . ($! + 0) . "\n") if syscall($MKNODAT, $here, $path, $mode, 0) != 0;
  }
  report("m $id 0\n");
}

sub start {
  my ($id, @order) = @_;
  pipe(my $read, my $write) or return report("e $id fork " . ($! + 0) . "\n");
  my $pid = fork;
  return report("e $id fork " . ($! + 0) . "\n") if !defined $pid;
  become($write, @order) if $pid == 0;
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
    $kind eq 'm' ? make_fifos(@words) : start(@words);
  }
}
`;
