import { expect, test } from 'vitest';
import { isWholeText } from './whole-text.ts';

test.each([
  '',
  'echo a',
  'echo a &',
  "echo 'a'; # it's",
  'for i in 1 2; do echo $i; done',
  "cat <<X\nit's\nX",
  'cat <<X; cat <<Y\na\nX\nb\nY',
  'echo a \\\n b',
  'if true; then echo a\nfi',
  'f() { read x; }',
  'case a in a) echo b;; esac',
  'echo $(( 1 + 2 ))',
  'echo "${a:-b}"',
  '[[ a == b ]] && echo c',
  'echo )',
])('nothing is missing of %j', (text) => {
  expect(isWholeText(text)).toBe(true);
});

test.each([
  "echo '",
  'echo "a',
  'echo `a',
  "echo $'a",
  'echo $(',
  'echo ${a',
  'echo $((1 +',
  'cat <<X',
  'cat <<X\na',
  "cat <<'X Y'\nX",
  'cat <<-X\n\tX ',
  'echo a \\',
  'echo a &&',
  'echo a ||',
  'echo a |',
  'echo a |&',
  'for i in 1',
  'for i in 1; do',
  'while true; do echo a',
  'if true',
  'if true; then echo a; else',
  'case a in',
  'case a in a) echo b;;',
  'select a in b; do',
  'f() {',
  'f()',
  '{ echo a',
  '( echo a',
  '[[ a ==',
  '(( 1 +',
  'a=(b',
  'coproc {',
])('more is wanted behind %j', (text) => {
  expect(isWholeText(text)).toBe(false);
});
