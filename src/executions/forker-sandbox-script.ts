/**
 * The part of the forker's program that enters copies of sandboxes. It comes behind the rest, whose names it uses, so that
 * Perl compiles it with them.
 */
export const SANDBOX_SCRIPT = String.raw`
# Into a copy of a sandbox that stands: its mounts as they are, and anew whatever must not be shared with another command.
# From here on there are three processes, as there are with bwrap: this one waits outside, where nobody inside can see it,
# the first of the namespace collects orphans, and its child returns to become the command. The first of the namespace
# keeps the forker's memory, so that it is made undumpable: nobody inside can read it.
sub enter {
  my ($fail, $pid, $start, $has_network, $is_last, $filter, @mounts) = @_;
  my ($user, $group) = ($> + 0, $) + 0);
  my $program = '';
  if ($filter ne '') {
    open(my $file, '<:unix', $filter) or $fail->('filter');
    1 while sysread($file, $program, 1 << 16, length $program);
    $fail->('filter') if $program eq '' || length($program) % 8 != 0;
  }
  opendir(my $proc, '/proc') or $fail->('namespace');
  open(my $mounted, '<:unix', "/proc/$pid/ns/mnt") or $fail->('namespace');
  $fail->('template') if start_time($pid) ne $start;
  # The one that the mounts belong to; the command's will be inside it, without any right to them.
  my $owner = ioctl($mounted, 0xb701, 0) or $fail->('namespace');
  open(my $outer, '<&=:unix', $owner + 0) or $fail->('namespace');
  syscall($SETNS, fileno($outer), $NEWUSER) == 0 or $fail->('setns');
  syscall($SETNS, fileno($mounted), $NEWNS) == 0 or $fail->('setns');
  my $apart = $NEWNS | $NEWCGROUP | $NEWUTS | $NEWIPC | $NEWPID | ($has_network ? 0 : $NEWNET);
  syscall($UNSHARE, $apart) == 0 or $fail->('unshare');
  pipe(my $read, my $write) or $fail->('pipe');
  defined(my $init = fork) or $fail->('fork');
  if ($init != 0) {
    syswrite($write, $init);
    close $read;
    drop_rights();
    linger($init, fileno($write), fileno($out));
  }
  close $write;
  syscall($PRCTL, $PDEATHSIG, $SIGKILL, 0, 0, 0);
  # It tells what this process is called outside. It may have died before that: then its end of the pipe is closed.
  sysread($read, my $pid_outside, 16) or exit 1;
  vec(my $closed = '', fileno($read), 1) = 1;
  exit 1 if select($closed, undef, undef, 0);
  while (my ($source, $target, $type, $flags, $data) = splice(@mounts, 0, 5)) {
    syscall($MOUNT, $source, $target, $type, $flags + 0, $data) == 0 or $fail->('mount');
  }
  raise_loopback() or $fail->('loopback') if !$has_network;
  enter_own_user($proc, $user, $group, $is_last) or $fail->('user');
  syscall($PRCTL, $DUMPABLE, 0, 0, 0, 0) == 0 or $fail->('undumpable');
  drop_rights() or $fail->('rights');
  syscall($PRCTL, 22, 2, pack('S x![P] P', length($program) / 8, $program), 0, 0) == 0 or $fail->('filter')
    if $program ne '';
  defined(my $command = fork) or $fail->('fork');
  linger($command) if $command != 0;
  return $pid_outside;
}

# Into a user namespace that is the command's alone: the kernel counts processes and inotify instances there. It lies in
# another one that can have no second, so that the command makes none of its own, as with bwrap's --disable-userns.
sub enter_own_user {
  my ($proc, $user, $group, $is_last) = @_;
  my $become = sub {
    my ($uid, $gid, $uid_now, $gid_now) = (@_, $> + 0, $) + 0);
    return syscall($UNSHARE, $NEWUSER) == 0 && put('self/setgroups', 'deny')
      && put('self/uid_map', "$uid $uid_now 1") && put('self/gid_map', "$gid $gid_now 1");
  };
  chdir $proc or return 0;
  my ($all, $each) = @INSTANCES;
  put($INSTANCES_FILE, $all) if $all;
  if ($is_last) { $become->($> + 0, $) + 0) && put('sys/user/max_user_namespaces', '1') or return 0 }
  $become->($user, $group) or return 0;
  # As far as it can be done here: the sandbox holds without.
  put($INSTANCES_FILE, $each) if $each;
  closedir $proc;
  return chdir '/';
}

sub put {
  my ($path, $text) = @_;
  open(my $file, '>:unix', $path) or return 0;
  return syswrite($file, $text);
}

# Waits for one process, with nothing open but what is named, and ends as it did. To take down the namespaces takes a
# while, so that the last of them reports the end before its own; the forker's report of it comes too late to matter.
sub linger {
  my ($child, @kept) = @_;
  $0 = 'mcp-shell-server: sandbox';
  close_all_but(@kept);
  my ($ended, $status, $used) = (0, pack('l', 0), "\0" x 144);
  do { $ended = syscall($WAIT4, -1, $status, 0, $used) } until $ended == $child || $ended < 0;
  $status = unpack('l', $status);
  my $code = $status & 127 ? 128 + ($status & 127) : $status >> 8;
  report(ended($$, $code << 8, $used)) if @kept;
  # At once: Perl would first take down everything it holds, and copy for that each page it shares with the forker.
  syscall($EXIT_GROUP, $code);
}

sub close_all_but {
  # What we have open lies below 128. Kernels before 5.9 do not know the call.
  my ($from, $is_done) = (0, 1);
  for my $kept ((sort { $a <=> $b } @_), 128) {
    $is_done &&= $kept == $from || syscall($CLOSE_RANGE, $from, $kept - 1, 0) == 0;
    $from = $kept + 1;
  }
  return if $is_done;
  my %kept = map { $_ => 1 } @_;
  syscall($CLOSE, $_) for grep { !$kept{$_} } 0 .. 127;
}

sub raise_loopback {
  socket(my $socket, 2, 2, 0) or return 0;
  my $request = pack('a16 s x14', 'lo', 1);
  return ioctl($socket, 0x8914, $request);
}

# No capability, now or by any program that it starts.
sub drop_rights {
  syscall($PRCTL, 38, 1, 0, 0, 0) == 0 or return 0;
  syscall($PRCTL, 47, 4, 0, 0, 0);
  my $right = 0;
  $right++ while syscall($PRCTL, 24, $right, 0, 0, 0) == 0;
  # The first that there is not; without the right to drop one the answer is another.
  $! == $EINVAL or return 0;
  my ($header, $none) = (pack('L l', 0x20080522, 0), "\0" x 24);
  return syscall($CAPSET, $header, $none) == 0;
}
`;
