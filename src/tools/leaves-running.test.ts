import { describe, expect, test } from 'vitest';
import { leavesRunning } from './leaves-running.ts';

describe('a command that leaves something running', () => {
  test.for([
    'sleep 100 &',
    'npm run dev &',
    'npm run dev & echo started',
    'npm run dev > log 2>&1 &',
    'npm run dev &> log &',
    '(cd app && npm start) &',
    'nohup ./server &',
    'setsid ./server > /dev/null 2>&1 < /dev/null &',
    './a & ./b &',
    'make && ./server &',
    './server& ',
    '{ ./server; } &',
    'for i in 1 2; do ./w $i & done',
    'sleep 1 &\necho done',
    'echo "a & b"; ./server &',
    "echo 'waiting'; ./server &",
    './server & disown',
    'x=$(./a & echo $!)',
  ])('%s', (command) => {
    expect(leavesRunning(command)).toBe(true);
  });
});

describe('a command that leaves nothing running', () => {
  test.for([
    '',
    'true',
    'make && make test',
    'a && b && c',
    'a || b',
    'a | b',
    'a |& b',
    'ls > out 2>&1',
    'ls &> out',
    'ls &>> out',
    'ls >& out',
    'cat <&3',
    'exec 3>&-',
    'echo "a & b"',
    "echo 'a & b'",
    'echo a \\& b',
    'curl "http://host/?a=1&b=2"',
    "curl 'http://host/?a=1&b=2'",
    'sleep 1 & wait',
    './a & ./b & wait',
    'sleep 1 &\nwait $!',
    'echo "x" # start & go',
    'cat <<EOF\na & b\nEOF',
    "cat <<'END'\nserver &\nEND\necho done",
    'cat <<-EOF\n\ta & b\n\tEOF',
    'echo $((5 & 3))',
    '(( x & 1 )) && echo odd',
    'if [[ a == b && c == d ]]; then echo; fi',
    "awk '$1 & 1' file",
    'git log --format="%h & %s"',
    'echo "quote \\" & still inside"',
    'case $x in a) echo ;& b) echo ;; esac',
    'case $x in a) echo ;;& b) echo ;; esac',
  ])('%s', (command) => {
    expect(leavesRunning(command)).toBe(false);
  });
});
