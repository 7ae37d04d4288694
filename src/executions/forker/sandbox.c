/*
 * Copies of a sandbox that stands: its mounts as they are, and anew whatever must not be shared with another command.
 * There are three processes, as there are with bwrap: one waits outside, where nobody inside can see it, the first of the
 * namespace collects orphans, and its child returns to become the command. The first of the namespace keeps the forker's
 * memory, so that it is made undumpable: nobody inside can read it.
 */
#define _GNU_SOURCE
#include "forker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/nsfs.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool put(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool is_written = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
  close(fd);
  return is_written;
}

static bool map_one(const char *path, unsigned inside, unsigned outside) {
  char line[64];
  snprintf(line, sizeof line, "%u %u 1", inside, outside);
  return put(path, line);
}

/* Below /proc. */
static bool unshare_user(uid_t user, gid_t group) {
  uid_t user_now = geteuid();
  gid_t group_now = getegid();
  return unshare(CLONE_NEWUSER) == 0 && put("self/setgroups", "deny") && map_one("self/uid_map", user, user_now) &&
         map_one("self/gid_map", group, group_now);
}

static void bound_instances(const char *most) {
  /* As far as it can be done here: the sandbox holds without. */
  if (*most != '\0') put("sys/user/max_inotify_instances", most);
}

/* Into a user namespace that is the command's alone: the kernel counts processes and inotify instances there. It lies in
 * another one that can have no second, so that the command makes none of its own, as with bwrap's --disable-userns. */
static bool enter_own_user(int proc_fd, uid_t user, gid_t group, bool is_last) {
  if (fchdir(proc_fd) != 0) return false;
  bound_instances(instances.all);
  if (is_last && !(unshare_user(geteuid(), getegid()) && put("sys/user/max_user_namespaces", "1"))) return false;
  if (!unshare_user(user, group)) return false;
  bound_instances(instances.each);
  close(proc_fd);
  return chdir("/") == 0;
}

/* No capability, now or by any program that it starts. */
static bool drop_rights(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (int right = 0; prctl(PR_CAPBSET_DROP, right, 0, 0, 0) == 0;) right++;
  /* The first that there is not; without the right to drop one the answer is another. */
  if (errno != EINVAL) return false;
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2] = {{0}};
  return syscall(SYS_capset, &header, none) == 0;
}

static bool raise_loopback(void) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
  bool is_up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  if (fd >= 0) close(fd);
  return is_up;
}

/* Waits for one process, with nothing open but what is named, and ends as it did. To take down the namespaces takes a
 * while, so that the last of them reports the end before its own; the forker's report of it comes too late to matter. */
static _Noreturn void linger(pid_t child, const int *kept, size_t count) {
  set_title("mcp-shell-server: sandbox");
  close_all_but(kept, count);
  int status = 0;
  struct rusage used;
  pid_t ended;
  do ended = wait4(-1, &status, 0, &used);
  while (ended != child && (ended > 0 || errno == EINTR));
  int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (count > 0) {
    say_end(getpid(), code << 8, &used);
    flush_reports();
  }
  _exit(code);
}

/* An empty one where none is wanted. */
static struct sock_fprog read_filter(int failure, const char *path) {
  struct sock_fprog program = {0};
  if (*path == '\0') return program;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat found;
  if (fd < 0 || fstat(fd, &found) != 0) fail(failure, "filter");
  size_t length = (size_t)found.st_size;
  program.len = (unsigned short)(length / sizeof *program.filter);
  program.filter = malloc(length);
  if (length == 0 || length % sizeof *program.filter != 0 || program.filter == NULL ||
      program.len != length / sizeof *program.filter || read(fd, program.filter, length) != (ssize_t)length)
    fail(failure, "filter");
  close(fd);
  return program;
}

/* Into the namespaces of a sandbox, and out of what must not be shared. */
static void join_template(int failure, const char *namespace, bool has_network) {
  int mounts_fd = open(namespace, O_RDONLY | O_CLOEXEC);
  if (mounts_fd < 0) fail(failure, "namespace");
  /* The one that the mounts belong to; the command's will be inside it, without any right to them. */
  int owner_fd = ioctl(mounts_fd, NS_GET_USERNS);
  if (owner_fd < 0) fail(failure, "namespace");
  if (setns(owner_fd, CLONE_NEWUSER) != 0 || setns(mounts_fd, CLONE_NEWNS) != 0) fail(failure, "setns");
  close(owner_fd);
  close(mounts_fd);
  int apart = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID;
  if (unshare(apart | (has_network ? 0 : CLONE_NEWNET)) != 0) fail(failure, "unshare");
}

static void mount_all(int failure, struct words mounts) {
  for (; count_words(mounts) >= 5; mounts.next += 5) {
    char **word = mounts.next;
    if (mount(word[0], word[1], word[2], (unsigned long)number_of(word[3]), word[4]) != 0) fail(failure, "mount");
  }
}

/* The process outside tells the first one inside what it is called there. */
static pid_t fork_init(int failure) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(failure, "pipe");
  pid_t init = fork();
  if (init < 0) fail(failure, "fork");
  if (init > 0) {
    if (write(ends[1], &init, sizeof init) != sizeof init) fail(failure, "pipe");
    drop_rights();
    int kept[2] = {ends[1] < answers_fd ? ends[1] : answers_fd, ends[1] < answers_fd ? answers_fd : ends[1]};
    linger(init, kept, 2);
  }
  close(ends[1]);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  /* It may have died before that: then its end of the pipe is closed. */
  pid_t outside;
  if (read(ends[0], &outside, sizeof outside) != sizeof outside) _exit(1);
  struct pollfd closed = {.fd = ends[0], .events = POLLIN};
  if (poll(&closed, 1, 0) != 0) _exit(1);
  close(ends[0]);
  return outside;
}

pid_t enter_copy(int failure, struct words *words) {
  uid_t user = geteuid();
  gid_t group = getegid();
  const char *namespace = next_word(words);
  bool has_network = *next_word(words) == '1';
  bool is_last = *next_word(words) == '1';
  struct sock_fprog filter = read_filter(failure, next_word(words));
  int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc_fd < 0) fail(failure, "namespace");
  join_template(failure, namespace, has_network);
  pid_t init = fork_init(failure);
  mount_all(failure, *words);
  if (!has_network && !raise_loopback()) fail(failure, "loopback");
  if (!enter_own_user(proc_fd, user, group, is_last)) fail(failure, "user");
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) fail(failure, "undumpable");
  if (!drop_rights()) fail(failure, "rights");
  if (filter.len > 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0) fail(failure, "filter");
  pid_t command = fork();
  if (command < 0) fail(failure, "fork");
  if (command > 0) linger(command, NULL, 0);
  return init;
}

/* Of a sandbox that bwrap has built, by its first process. Not through a program of its own: an execve would take the
 * rights away that joining the namespace gives. */
int bound_inotify(const char *pid, const char *start_time, const char *most) {
  char path[40];
  snprintf(path, sizeof path, "/proc/%ld/ns/user", number_of(pid));
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || start_time_of((pid_t)number_of(pid)) != strtoull(start_time, NULL, 10)) return 1;
  if (setns(fd, CLONE_NEWUSER) != 0) return 2;
  return put("/proc/sys/user/max_inotify_instances", most) ? 0 : 3;
}
