/* Requests are words with a NUL between them. One that is missing is empty: the server is ours, but never trusted to count. */
#include "forker.h"

#include <stdlib.h>
#include <string.h>

const char *next_word(struct words *words) {
  return words->next < words->end ? *words->next++ : "";
}

size_t count_words(struct words words) {
  return (size_t)(words.end - words.next);
}

/* A number, and as many words. */
struct words take_words(struct words *words) {
  long wanted = number_of(next_word(words));
  size_t left = count_words(*words);
  size_t count = wanted < 0 ? 0 : (size_t)wanted > left ? left : (size_t)wanted;
  struct words taken = {words->next, words->next + count};
  words->next += count;
  return taken;
}

/* The list ends with a null pointer, and so is freed by its first word. */
struct words split_words(char *text, size_t length) {
  size_t count = 1;
  for (size_t at = 0; at < length; at++) count += text[at] == '\0';
  char **list = malloc((count + 1) * sizeof *list);
  if (list == NULL) exit(72);
  size_t found = 0;
  for (char *word = text; found < count; word += strlen(word) + 1) list[found++] = word;
  list[count] = NULL;
  return (struct words){list, list + count};
}

long number_of(const char *word) {
  return strtol(word, NULL, 10);
}
