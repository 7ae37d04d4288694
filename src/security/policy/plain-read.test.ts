import { describe, expect, test } from 'vitest';
import { isPlainRead } from './plain-read.ts';

describe('a shell that reads without echo', () => {
  test.for([
    'read -s x',
    'read -s -p "Password: " p',
    'read -rs a; read -rs b',
    `stty -echo; printf 'Password: '; read p; stty echo`,
    'read -s -p "Pass""word: " secret; echo "got ${#secret}"',
    'read -s x\nread -s y',
  ])('asks for a password: %s', (commands) => expect(isPlainRead(commands)).toBe(true));

  test.for([
    '',
    'stty -echo',
    'stty -echo; . /dev/stdin',
    'source /dev/tty',
    'stty -echo; eval "$(cat)"',
    'read -s x; eval "$x"',
    'read -s x; $x',
    'read -s x; bash -c "$x"',
    'while read x; do eval "$x"; done',
    'f() { . /dev/stdin; }; read x; f',
    'read() { . /dev/stdin; }; read x',
    'read -s PROMPT_COMMAND',
    'read -s PS1',
    "read -s 'a[$(id)]'",
    'read -s x | sh',
    'make; read -s x',
    'read -s "x',
  ])('may run it: %s', (commands) => expect(isPlainRead(commands)).toBe(false));
});
