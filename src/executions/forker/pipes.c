/*
 * Pipes that no program has yet. The server opens its end of one by our /proc/<pid>/fd, and names the other end in an
 * order. It may give one up without a word, so that there are only so many, and the oldest go.
 */
#define _GNU_SOURCE
#include "forker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PIPES = 512, MAX_FD = 1 << 16 };

/* By the number of an end; 0 where it is none. */
static int other_end[MAX_FD];
static unsigned made_as[MAX_FD];
static unsigned made;
/* By its number, the reading end of each. */
static struct {
  int read;
  unsigned number;
} oldest[MAX_PIPES + 1];
static unsigned first, last;

void let_go(int end) {
  int other = other_end[end];
  if (other == 0) return;
  other_end[end] = other_end[other] = 0;
  made_as[end] = made_as[other] = 0;
  close(end);
  close(other);
}

/* Above everything else, so that a child closes all of them at once; -1 where there is no room. */
static int raise_end(int low) {
  int high = fcntl(low, F_DUPFD_CLOEXEC, PIPES_FROM);
  if (high < MAX_FD) return high;
  close(high);
  errno = EMFILE;
  return -1;
}

static int make_pipe(int ends[2]) {
  int low[2];
  if (pipe2(low, O_CLOEXEC) != 0) return -1;
  ends[0] = raise_end(low[0]);
  ends[1] = raise_end(low[1]);
  int problem = errno;
  close(low[0]);
  close(low[1]);
  if (ends[0] >= 0 && ends[1] >= 0) return 0;
  if (ends[0] >= 0) close(ends[0]);
  if (ends[1] >= 0) close(ends[1]);
  errno = problem;
  return -1;
}

static void remember(const int ends[2]) {
  other_end[ends[0]] = ends[1];
  other_end[ends[1]] = ends[0];
  made_as[ends[0]] = ++made;
  oldest[last++ % (MAX_PIPES + 1)].read = ends[0];
  oldest[(last - 1) % (MAX_PIPES + 1)].number = made;
  if (last - first <= MAX_PIPES) return;
  int read = oldest[first % (MAX_PIPES + 1)].read;
  /* Its number may be that of another one by now. */
  if (made_as[read] == oldest[first % (MAX_PIPES + 1)].number) let_go(read);
  first++;
}

void make_pipes(const char *id, long count) {
  char list[1 << 13];
  size_t length = 0;
  list[0] = '\0';
  while (count-- > 0 && length < sizeof list - 32) {
    int ends[2];
    if (make_pipe(ends) != 0) {
      say("m %s %d\n", id, errno);
      return;
    }
    remember(ends);
    length += (size_t)snprintf(list + length, sizeof list - length, " %d %d", ends[0], ends[1]);
  }
  say("m %s 0%s\n", id, list);
}

/* The number of an end that this path means; -1 where it is another path. */
int pipe_end(const char *path) {
  int owner, end, length = 0;
  if (sscanf(path, "/proc/%d/fd/%d%n", &owner, &end, &length) != 2 || path[length] != '\0') return -1;
  return owner == forker && end > 0 && end < MAX_FD && other_end[end] != 0 ? end : -1;
}
