import { describe, expect, test } from 'vitest';
import { explainMemory } from './explain-memory.ts';

const LIMIT = 300 * 1024 * 1024;

describe('a program that was refused memory', () => {
  test.each([
    ['Python', 'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\nMemoryError'],
    ['the C library', 'malloc: Cannot allocate memory'],
    ['Python on a system call', 'OSError: [Errno 12] Cannot allocate memory'],
    ['Perl', 'Out of memory!'],
    ['C++', "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc"],
    ['Rust', 'memory allocation of 1073741824 bytes failed'],
    ['Go', 'runtime: cannot allocate 67108864-byte block (4194304 in use)\nfatal error: out of memory'],
    ['Node', 'Error: spawn ENOMEM'],
    ['gcc', 'cc1plus: virtual memory exhausted: Cannot allocate memory'],
    ['Java', 'There is insufficient memory for the Java Runtime Environment to continue.'],
    ['AddressSanitizer', '==1==ERROR: AddressSanitizer failed to allocate 0xdfff0001000 bytes (errno: 12)'],
    ["AddressSanitizer's shadow", '==1==ReserveShadowMemoryRange failed while trying to map 0xdfff0001000'],
  ])('is recognized by the words of %s', (_, text) => {
    const sentence = explainMemory(text, LIMIT);
    expect(sentence).toContain('300 MiB');
    expect(sentence).toContain('security.max_memory_mb');
    expect(sentence).toContain('ulimit -S -d unlimited');
  });
});

test.each([
  ['other complaints', 'error: test failed: expected 2, got 3'],
  ['a heap that Java limits', 'java.lang.OutOfMemoryError: Java heap space\nOut of memory'],
  [
    'a heap that Node limits',
    'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory',
  ],
  ['a class of that name', 'class MyMemoryErrorHandler is not defined'],
  ['nothing', ''],
])('says nothing of %s', (_, text) => {
  expect(explainMemory(text, LIMIT)).toBeUndefined();
});

test('says nothing where no process was limited', () => {
  expect(explainMemory('MemoryError', undefined)).toBeUndefined();
});
