/*
 * Forks on behalf of the server, whose own fork would copy the page tables of a large process while everything else
 * waits. Requests come on descriptor 3, a length and words each; reports go to 4, a line each:
 *   "p id pid start"   the program is running           "x pid status microseconds KiB"  a child has ended
 *   "e id step errno"  it could not be started          "r word [pid]"  said by a program that is ready; in a copy of
 *                                                       a sandbox, with the pid of the first process there
 *   "m id 0 fd fd ..." pipes that were asked for, each with its reading and its writing end; "m id errno" if not
 *   "f pid"            first of all: the process that starts programs
 * Ends with the server, whose end of descriptor 3 is then closed.
 *
 * There are two processes. Orphans of programs become children of the first one, which collects them and does nothing
 * else; programs are children of the second one. So none that was just started is taken for an orphan.
 */
#define _GNU_SOURCE
#include "forker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t forker;
int answers_fd;
struct instances instances;

/* Programs whose exec is not over yet; it closes the other end of the pipe. */
struct starting {
  pid_t pid;
  int fd;
  unsigned long long start_time;
  char id[24];
};
static struct starting *starting;
static size_t starting_count, starting_room;

static char *title;
static size_t title_room;

/* As `ps` shows it: over our name and, where that is longer, the variables behind it. */
void set_title(const char *text) {
  if (strlen(text) < title_room) strcpy(title, text);
  prctl(PR_SET_NAME, text);
}

/* A copy: titles are written over it. */
static const char *variable(const char *name) {
  const char *value = getenv(name);
  return strdup(value == NULL ? "" : value);
}

/* When it was started, in ticks since the machine was; 0 where there is no such process. */
unsigned long long start_time_of(pid_t pid) {
  char path[32], stat[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t length = read(fd, stat, sizeof stat - 1);
  close(fd);
  if (length <= 0) return 0;
  stat[length] = '\0';
  char *at = strrchr(stat, ')');
  /* The twenty-second field; the name, which may have spaces, is the second. */
  for (int field = 2; at != NULL && field < 22; field++) at = strchr(at + 1, ' ');
  return at == NULL ? 0 : strtoull(at, NULL, 10);
}

/* Whether the program is running, or why not: what it wrote before its exec failed. */
static void settle(size_t index) {
  struct starting one = starting[index];
  starting[index] = starting[--starting_count];
  char problem[64];
  ssize_t length = read(one.fd, problem, sizeof problem - 1);
  close(one.fd);
  if (length <= 0) say("p %s %d %llu\n", one.id, one.pid, one.start_time);
  else say("e %s %.*s\n", one.id, (int)length, problem);
}

static void reap(int signals_fd) {
  struct signalfd_siginfo ignored;
  if (read(signals_fd, &ignored, sizeof ignored) < 0) return;
  int status;
  struct rusage used;
  for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &used)) > 0;) {
    for (size_t index = 0; index < starting_count; index++) {
      if (starting[index].pid != pid) continue;
      settle(index);
      break;
    }
    say_end(pid, status, &used);
  }
}

static struct order parse_order(struct words words) {
  struct order order;
  order.id = next_word(&words);
  order.directory = next_word(&words);
  order.report_fd = next_word(&words);
  order.file_bytes = next_word(&words);
  order.data_bytes = next_word(&words);
  order.must_join = number_of(next_word(&words)) != 0;
  order.groups = take_words(&words);
  order.descriptors = take_words(&words);
  order.template = take_words(&words);
  order.argv = take_words(&words);
  order.environment = words;
  return order;
}

static bool has_room(void) {
  if (starting_count < starting_room) return true;
  size_t room = starting_room == 0 ? 32 : starting_room * 2;
  struct starting *larger = realloc(starting, room * sizeof *larger);
  if (larger == NULL) return false;
  starting = larger;
  starting_room = room;
  return true;
}

static pid_t begin(struct order order) {
  int ends[2];
  if (!has_room() || pipe2(ends, O_CLOEXEC) != 0) return -1;
  /* Those above are closed in a child, which would look as if its program were running. */
  pid_t pid = ends[1] < PIPES_FROM ? fork() : (errno = EMFILE, -1);
  if (pid == 0) become(ends[1], order);
  int problem = errno;
  close(ends[1]);
  if (pid < 0) close(ends[0]);
  else {
    struct starting *one = &starting[starting_count++];
    *one = (struct starting){.pid = pid, .fd = ends[0], .start_time = start_time_of(pid)};
    snprintf(one->id, sizeof one->id, "%s", order.id);
  }
  errno = problem;
  return pid;
}

static void start(struct order order) {
  if (begin(order) < 0) say("e %s fork %d\n", order.id, errno);
  for (struct words left = order.descriptors; count_words(left) >= 4; left.next += 4) {
    int end = pipe_end(left.next[3]);
    if (end >= 0) let_go(end);
  }
}

static void obey(char *request, size_t length) {
  struct words words = split_words(request, length);
  char **list = words.next;
  if (*next_word(&words) == 'm') {
    const char *id = next_word(&words);
    make_pipes(id, number_of(next_word(&words)));
  } else start(parse_order(words));
  free(list);
}

static char *buffer;
static size_t buffered, buffer_room;

/* False where the server has closed its end. */
static bool hear(int requests_fd) {
  enum { PIECE = 1 << 16 };
  if (buffer_room - buffered < PIECE) {
    buffer_room = buffered + 2 * PIECE;
    /* One more, for the NUL behind the last word. */
    buffer = realloc(buffer, buffer_room + 1);
    if (buffer == NULL) exit(72);
  }
  ssize_t got = read(requests_fd, buffer + buffered, buffer_room - buffered);
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) return false;
  buffered += (size_t)got;
  size_t at = 0;
  uint32_t length;
  while (buffered - at >= sizeof length) {
    memcpy(&length, buffer + at, sizeof length);
    if (buffered - at - sizeof length < length) break;
    char *request = buffer + at + sizeof length;
    at += sizeof length + length;
    char behind = buffer[at];
    buffer[at] = '\0';
    obey(request, length);
    buffer[at] = behind;
  }
  memmove(buffer, buffer + at, buffered - at);
  buffered -= at;
  return true;
}

static int raised(int fd) {
  int high = fcntl(fd, F_DUPFD_CLOEXEC, OWN_FROM);
  if (high < 0) exit(70);
  close(fd);
  return high;
}

/* Takes what lies below our own descriptors, so that nothing else gets a number that a program will have. */
static void fill_low(void) {
  int fd;
  do {
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0) exit(70);
  } while (fd < 9);
  if (fd > 9) close(fd);
}

static int watch_children(void) {
  sigset_t only_children;
  sigemptyset(&only_children);
  sigaddset(&only_children, SIGCHLD);
  if (sigprocmask(SIG_BLOCK, &only_children, NULL) != 0) exit(71);
  int fd = signalfd(-1, &only_children, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) exit(71);
  return fd;
}

/* Returns in the second process. The first one stays until that has ended. */
static void fork_from_reaper(void) {
  pid_t reaper = getpid();
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) exit(71);
  pid_t child = fork();
  if (child < 0) exit(71);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != reaper) _exit(71);
    return;
  }
  close_all_but(NULL, 0);
  set_title("mcp-shell-server: reaper");
  pid_t ended;
  do ended = wait4(-1, NULL, 0, NULL);
  while (ended != child && (ended > 0 || errno == EINTR));
  _exit(0);
}

/* Waits for any of what is looked at; false where the server has gone. */
static bool wait_and_serve(int requests_fd, int signals_fd) {
  struct pollfd looks[2 + starting_count];
  looks[0] = (struct pollfd){.fd = requests_fd, .events = POLLIN};
  looks[1] = (struct pollfd){.fd = signals_fd, .events = POLLIN};
  for (size_t index = 0; index < starting_count; index++)
    looks[2 + index] = (struct pollfd){.fd = starting[index].fd, .events = POLLIN};
  if (poll(looks, 2 + starting_count, -1) < 0) return true;
  /* From the end: the last one takes the place of one that is settled. */
  for (size_t index = starting_count; index-- > 0;)
    if (looks[2 + index].revents != 0) settle(index);
  if (looks[1].revents != 0) reap(signals_fd);
  bool goes_on = looks[0].revents == 0 || hear(requests_fd);
  flush_reports();
  return goes_on;
}

int main(int argc, char **argv) {
  if (argc == 5 && strcmp(argv[1], "bound-inotify") == 0) return bound_inotify(argv[2], argv[3], argv[4]);
  instances.all = variable("INOTIFY_ALL");
  instances.each = variable("INOTIFY_EACH");
  title = argv[0];
  const char *last = argv[0];
  for (char **each = environ; *each != NULL; each++) last = *each;
  title_room = (size_t)(last + strlen(last) + 1 - title);
  prctl(PR_SET_NAME, argv[0]);
  fork_from_reaper();
  forker = getpid();
  int requests_fd = raised(3);
  answers_fd = raised(4);
  fill_low();
  int signals_fd = watch_children();
  say("f %d\n", forker);
  flush_reports();
  while (wait_and_serve(requests_fd, signals_fd)) continue;
  return 0;
}
