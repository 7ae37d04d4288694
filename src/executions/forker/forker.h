/* What the parts of the forker share. forker.c says what it is for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Our own descriptors lie above those of a program, so that whatever is opened for it can be put in its place. */
enum { OWN_FROM = 64, PIPES_FROM = 256 };

/* Words of a request, which point into it. */
struct words {
  char **next;
  char **end;
};

/* A program to be started. */
struct order {
  const char *id;
  const char *directory;
  const char *report_fd;
  const char *file_bytes;
  const char *data_bytes;
  bool must_join;
  struct words groups;
  struct words descriptors; /* four words each: number, flags, whether its name goes, path */
  struct words template;
  struct words argv;
  struct words environment;
};

/* Numbers of inotify instances: of all commands in copies of one sandbox, and of each. Empty where they are unknown. */
struct instances {
  const char *all;
  const char *each;
};

extern pid_t forker;
extern int answers_fd;
extern struct instances instances;

/* words.c */
const char *next_word(struct words *words);
struct words take_words(struct words *words);
size_t count_words(struct words words);
struct words split_words(char *text, size_t length);
long number_of(const char *word);

/* reports.c */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_end(pid_t pid, int status, const struct rusage *used);
void flush_reports(void);
void forget_reports(void);

/* pipes.c */
void make_pipes(const char *id, long count);
int pipe_end(const char *path);
void let_go(int end);

/* child.c: becomes the program of an order; problems are written to `failure`. */
_Noreturn void become(int failure, struct order order);
_Noreturn void fail(int failure, const char *step);
void close_from(int first);
void close_all_but(const int *kept, size_t count);

/* sandbox.c: enters a copy of a sandbox, and returns the pid of its first process as it is called outside. */
pid_t enter_copy(int failure, struct words *words);
int bound_inotify(const char *pid, const char *start_time, const char *most);

/* forker.c */
unsigned long long start_time_of(pid_t pid);
void set_title(const char *title);
