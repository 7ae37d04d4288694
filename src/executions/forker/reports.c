/* What is said to the server: lines, gathered and written together. */
#include "forker.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static char said[1 << 16];
static size_t length;

void flush_reports(void) {
  for (size_t at = 0; at < length;) {
    ssize_t written = write(answers_fd, said + at, length - at);
    /* The server has gone, and so do we. */
    if (written < 0 && errno != EINTR) _exit(73);
    if (written > 0) at += (size_t)written;
  }
  length = 0;
}

/* In a child, which would say them a second time. */
void forget_reports(void) {
  length = 0;
}

void say(const char *format, ...) {
  /* No line is longer than the numbers of a batch of pipes. */
  if (sizeof said - length < 1 << 14) flush_reports();
  va_list values;
  va_start(values, format);
  int added = vsnprintf(said + length, sizeof said - length, format, values);
  va_end(values);
  if (added > 0 && (size_t)added < sizeof said - length) length += (size_t)added;
}

void say_end(pid_t pid, int status, const struct rusage *used) {
  long long microseconds = (used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000LL +
                           used->ru_utime.tv_usec + used->ru_stime.tv_usec;
  say("x %d %d %lld %ld\n", pid, status, microseconds, used->ru_maxrss);
}
