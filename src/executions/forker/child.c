/* What a child of the forker does on its way to the program: groups, descriptors, limits, sandbox, directory. */
#define _GNU_SOURCE
#include "forker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

_Noreturn void fail(int failure, const char *step) {
  dprintf(failure, "%s %d", step, errno);
  kill(getpid(), SIGKILL);
  _exit(1);
}

/* Kernels before 5.9 do not know the call. */
static void close_range_of(unsigned first, unsigned last) {
  if (first > last || syscall(SYS_close_range, first, last, 0) == 0) return;
  long most = sysconf(_SC_OPEN_MAX);
  for (unsigned fd = first; fd <= last && fd < (unsigned)(most > 0 ? most : 1024); fd++) close((int)fd);
}

void close_from(int first) {
  close_range_of((unsigned)first, UINT_MAX);
}

/* `kept` ascends. */
void close_all_but(const int *kept, size_t count) {
  unsigned from = 0;
  for (size_t index = 0; index < count; index++) {
    if (kept[index] > 0) close_range_of(from, (unsigned)kept[index] - 1);
    from = (unsigned)kept[index] + 1;
  }
  close_range_of(from, UINT_MAX);
}

static bool join(const char *group) {
  int fd = open(group, O_WRONLY | O_CLOEXEC);
  bool has_joined = fd >= 0 && write(fd, "0", 1) == 1;
  if (fd >= 0) close(fd);
  return has_joined;
}

static bool open_as(int fd, int flags, const char *path) {
  int end = pipe_end(path);
  if (end >= 0) return dup3(end, fd, 0) >= 0;
  /* Without waiting for the other end of a FIFO, which is there unless the server has gone. */
  int opened = open(path, flags | O_NONBLOCK | O_CLOEXEC);
  return opened >= 0 && fcntl(opened, F_SETFL, flags) == 0 && dup3(opened, fd, 0) >= 0;
}

static void open_descriptors(int failure, struct words descriptors) {
  struct words left = descriptors;
  for (; count_words(left) >= 4; left.next += 4)
    if (!open_as((int)number_of(left.next[0]), (int)number_of(left.next[1]), left.next[3]))
      fail(failure, "open");
  for (left = descriptors; count_words(left) >= 4; left.next += 4)
    if (number_of(left.next[2]) != 0) unlink(left.next[3]);
  /* A reader sees the end of its pipe only when nobody else can write to it. */
  close_from(PIPES_FROM);
}

static bool limit(int resource, const char *word, bool is_soft) {
  if (*word == '\0') return true;
  struct rlimit limits;
  if (getrlimit(resource, &limits) != 0) return false;
  limits.rlim_cur = strtoull(word, NULL, 10);
  if (!is_soft) limits.rlim_max = limits.rlim_cur;
  return setrlimit(resource, &limits) == 0;
}

static bool set_limits(const struct order *order) {
  return limit(RLIMIT_FSIZE, order->file_bytes, false) &&
         limit(RLIMIT_CORE, *order->file_bytes == '\0' ? "" : "0", false) &&
         limit(RLIMIT_DATA, order->data_bytes, true);
}

/* Returns where it fails. The C library is asked to look for a name on PATH; not all of them give a script without a first
 * line to a shell. */
static void execute(struct words argv, char **environment) {
  size_t count = count_words(argv);
  char *list[count + 2];
  list[0] = "/bin/sh";
  memcpy(list + 1, argv.next, count * sizeof *list);
  list[count + 1] = NULL;
  environ = environment;
  if (count > 0) execvp(list[1], list + 1);
  else errno = ENOENT;
  if (errno == ENOEXEC && strchr(list[1], '/') != NULL) execv(list[0], list);
}

/* Tells that it is there, once. */
static void announce(int fd, const char *words, pid_t init) {
  dprintf(fd, "r %s %d\n", words, init);
  close(fd);
}

/* To its end; undefined where memory is short. */
static char *read_all(int fd, size_t *length) {
  char *text = NULL;
  *length = 0;
  for (;;) {
    enum { PIECE = 1 << 16 };
    char *larger = realloc(text, *length + PIECE + 1);
    if (larger == NULL) return NULL;
    text = larger;
    ssize_t got = read(fd, text + *length, PIECE);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    *length += (size_t)got;
  }
  text[*length] = '\0';
  return text;
}

static _Noreturn void give_up(const char *what, int code) {
  dprintf(2, "mcp-shell-server: %s: %s\n", what, strerror(errno));
  _exit(code);
}

static void place_stderr(const char *where) {
  if (strcmp(where, "merged") == 0) dup3(1, 2, 0);
  if (strcmp(where, "discarded") != 0) return;
  int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null < 0 || dup3(null, 2, 0) < 0) _exit(126);
}

/* Reads the command from the hand-off descriptor, to the end, and becomes it with nothing else open. Where the server
 * dies before the last word, nothing runs. */
static _Noreturn void await_command(int handoff_fd, int input_fd) {
  size_t length;
  char *text = read_all(handoff_fd, &length);
  close(handoff_fd);
  if (text == NULL) _exit(126);
  struct words words = split_words(text, length);
  if (strcmp(words.end[-1], "end") != 0 || count_words(words) < 7) _exit(126);
  *--words.end = NULL;
  const char *directory = next_word(&words);
  bool has_input = *next_word(&words) == '1';
  const char *stderr_place = next_word(&words);
  bool keeps_state = *next_word(&words) == '1';
  const char *processes = next_word(&words);
  struct words argv = take_words(&words);
  if (has_input) dup3(input_fd, 0, 0);
  close(input_fd);
  if (!keeps_state) close(3);
  place_stderr(stderr_place);
  if (!limit(RLIMIT_NPROC, processes, false)) _exit(126);
  if (chdir(directory) != 0) give_up(directory, 126);
  execute(argv, words.next);
  give_up(count_words(argv) > 0 ? argv.next[0] : "", errno == ENOENT ? 127 : 126);
}

static void enter_sandbox(int failure, struct order *order) {
  struct words template = order->template;
  const char *words = next_word(&template);
  int handoff_fd = (int)number_of(next_word(&template));
  int input_fd = (int)number_of(next_word(&template));
  const char *processes = next_word(&template);
  int report_fd = (int)number_of(order->report_fd);
  pid_t init = enter_copy(failure, &template);
  if (count_words(order->argv) == 0) {
    close(failure);
    announce(report_fd, words, init);
    await_command(handoff_fd, input_fd);
  }
  if (!limit(RLIMIT_NPROC, processes, false)) fail(failure, "limit");
  announce(report_fd, words, init);
}

_Noreturn void become(int failure, struct order order) {
  forget_reports();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  setsid();
  /* A process that dies before the command runs takes it along; a sandbox ends with us later, too. */
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != forker) _exit(1);
  for (; count_words(order.groups) > 0; order.groups.next++)
    if (!join(*order.groups.next) && order.must_join) fail(failure, "join");
  open_descriptors(failure, order.descriptors);
  bool has_report = *order.report_fd != '\0';
  if (has_report && dup3(answers_fd, (int)number_of(order.report_fd), 0) < 0) fail(failure, "open");
  if (!set_limits(&order)) fail(failure, "limit");
  if (count_words(order.template) > 0) enter_sandbox(failure, &order);
  if (chdir(order.directory) != 0) fail(failure, "chdir");
  if (!has_report) {
    prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    /* The server hears nothing of a program that is started after our end. */
    if (getppid() != forker) _exit(1);
  }
  execute(order.argv, order.environment.next);
  fail(failure, "exec");
}
