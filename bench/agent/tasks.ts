/** Recorded tasks: what a competent model does, step by step, reacting to what it is told. `truth` is what it should find. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Shell } from './shell.ts';

export interface Task {
  readonly name: string;
  /** What is there before the model comes. */
  readonly files: Readonly<Record<string, string>>;
  /** What the model says in the end. */
  work(shell: Shell, place: Place): Promise<string>;
  readonly truth: string;
}

export interface Place {
  readonly directory: string;
  /** Free on this machine. */
  readonly port: number;
}

const told = (failed: boolean): string => (failed ? 'failed' : 'succeeded');

const noise = (from: number, to: number, text: string): string =>
  `for n in $(seq ${from} ${to}); do echo "${text} $n"; done`;

const SERVER = `const http = require('http');
setTimeout(() => http.createServer((q, a) => a.end('hello')).listen(+process.env.PORT || +process.argv[2], '127.0.0.1', () => console.log('Listening')), 1500);
`;

export const TASKS: readonly Task[] = [
  {
    name: 'fix a failing test',
    files: {
      'sum.js': 'module.exports = (a, b) => a - b;\n',
      'test.sh': `${noise(1, 60, 'ok test')}\nnode -e 'process.exit(require("./sum.js")(1, 2) === 3 ? 0 : 1)' || { echo "FAILED sum.test: expected 3"; exit 1; }\necho "61 passed, 0 failed"\n`,
    },
    truth: 'fixed',
    async work(shell) {
      if (!(await shell.run('bash test.sh')).failed) return 'nothing to fix';
      await shell.run('cat sum.js');
      await shell.run("sed -i 's/a - b/a + b/' sum.js");
      return (await shell.run('bash test.sh')).failed ? 'not fixed' : 'fixed';
    },
  },
  {
    name: 'a test run whose end is piped through tail',
    files: {
      'test.sh': `${noise(1, 20, 'ok test')}\necho "FAILED login.test"\n${noise(21, 40, 'ok test')}\necho "Ran 41 tests in 2.1 s"; echo "Report: report.html"\nexit 1\n`,
    },
    truth: 'failed',
    work: async (shell) => told((await shell.run('bash test.sh 2>&1 | tail -2')).failed),
  },
  {
    name: 'start a server and call it',
    files: { 'server.js': SERVER },
    truth: 'hello',
    async work(shell, { port }) {
      const job = await shell.serve(`node server.js ${port}`, { port, line: 'Listening' });
      const { text } = await shell.run(`curl -s http://127.0.0.1:${port}/`);
      await shell.stop(job);
      return text.includes('hello') ? 'hello' : 'no answer';
    },
  },
  {
    name: 'a server that cannot start',
    files: {
      'server.js':
        'setTimeout(() => { console.error("Error: DATABASE_URL is not set"); process.exit(1); }, 1500);\n',
    },
    truth: 'DATABASE_URL',
    async work(shell, { port }) {
      const { seen } = await shell.serve(`node server.js ${port}`, { port, line: 'Listening' });
      return seen.text.includes('DATABASE_URL') ? 'DATABASE_URL' : 'unknown';
    },
  },
  {
    name: 'find an error in 50 MB of output',
    files: {
      'job.js':
        'const w = (a, b) => { let s = ""; for (let n = a; n < b; n++) s += `2026-01-01 12:00:00 INFO request ${n} took ${n % 97} ms\\n`; process.stdout.write(s); };\nw(0, 500000); process.stdout.write("2026-01-01 12:00:01 FATAL disk quota of tenant 7 exceeded\\n"); w(500000, 1000000);\n',
    },
    truth: 'tenant 7',
    async work(shell) {
      const { text } = await shell.find('node job.js', 'FATAL');
      return text.includes('tenant 7') ? 'tenant 7' : 'unknown';
    },
  },
  {
    name: 'a build of three minutes',
    files: {
      'build.sh':
        'for n in $(seq 1 90); do echo "[$n/90] compiling unit_$n.c"; sleep 0.2; done; echo "unit_90.c:12: error: missing semicolon" >&2; exit 2\n',
    },
    truth: 'failed',
    work: async (shell) => told((await shell.long('bash build.sh')).failed),
  },
  {
    name: 'a test suite of five minutes',
    files: {
      'suite.sh':
        'for n in $(seq 1 120); do echo "PASS spec_$n"; sleep 0.25; done; echo "120 passed, 0 failed"\n',
    },
    truth: 'succeeded',
    work: async (shell) => told((await shell.long('bash suite.sh')).failed),
  },
  {
    name: 'an interactive installer',
    files: {
      'install.sh':
        'read -rp "Accept the licence? [y/n] " a && [ "$a" = y ] || { echo "Error: licence not accepted"; exit 1; }\nread -rp "Directory: " d && [ -n "$d" ] || { echo "Error: no directory"; exit 1; }\nread -rp "Port: " p && [ -n "$p" ] || { echo "Error: no port"; exit 1; }\necho "Installed to $d on port $p"\n',
    },
    truth: 'installed',
    async work(shell) {
      // By whatever it said last; an empty answer is a look at a program that has not asked yet.
      const { text } = await shell.interact('bash install.sh', (shown) => {
        if (shown.includes('Installed to')) return undefined;
        const answers = {
          licence: 'y',
          'irectory:': '/opt/x',
          'no directory': '/opt/x',
          'ort:': '8080',
          'no port': '8080',
        };
        const [last] = Object.entries(answers)
          .map(([asked, reply]) => ({ at: shown.lastIndexOf(asked), reply }))
          .toSorted((a, b) => b.at - a.at);
        return last === undefined || last.at === -1 ? '' : last.reply;
      });
      return text.includes('Installed to /opt/x on port 8080') ? 'installed' : 'not installed';
    },
  },
  {
    name: 'a git rebase with a conflict',
    files: {
      'setup.sh':
        'export GIT_CONFIG_GLOBAL=/dev/null; git init -qb main r && cd r && git config user.email a@b && git config user.name a && echo one > f && git add f && git commit -qm one && git checkout -qb topic && echo topic > f && git commit -qam topic && git checkout -q main && echo main > f && git commit -qam main && git checkout -q topic\n',
    },
    truth: 'rebased',
    async work(shell) {
      await shell.run('bash setup.sh');
      const rebase = await shell.run('cd r && git rebase main');
      if (!/CONFLICT/.test(rebase.text)) return 'no conflict';
      await shell.run('cd r && git diff');
      await shell.run('cd r && echo both > f && git add f && GIT_EDITOR=true git rebase --continue');
      const { text } = await shell.run('cd r && git status | head -3; git log --oneline | head -3');
      return /rebase in progress/.test(text) ? 'stuck' : 'rebased';
    },
  },
  {
    name: 'a network command that fails twice',
    files: {
      'fetch.sh':
        'n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; [ "$n" -ge 2 ] || { echo "error: connection reset"; exit 7; }; echo "fetched 12 packages"\n',
    },
    truth: 'fetched',
    async work(shell) {
      for (let tries = 0; tries < 5; tries++)
        if (!(await shell.run('bash fetch.sh')).failed) return 'fetched';
      return 'given up';
    },
  },
  {
    name: 'three jobs at the same time',
    files: {
      'job.sh':
        'for n in $(seq 1 30); do echo "$1 step $n"; sleep 0.5; done; [ "$1" != b ] || { echo "b: migration failed"; exit 4; }\n',
    },
    truth: 'succeeded failed succeeded',
    async work(shell) {
      const seen = await shell.many(['bash job.sh a', 'bash job.sh b', 'bash job.sh c']);
      return seen.map(({ failed }) => told(failed)).join(' ');
    },
  },
  {
    name: 'a watcher that rebuilds',
    files: {
      'watch.js':
        'const fs = require("fs"); let n = 0; const build = () => setTimeout(() => { n += 1; fs.writeFileSync("out.txt", String(n)); console.log("built " + n); }, 1200); console.log("watching"); build(); fs.watchFile("in.txt", { interval: 100 }, build);\n',
      'in.txt': '1\n',
    },
    truth: 'built 2',
    async work(shell, { directory, port }) {
      const job = await shell.later('node watch.js');
      await shell.next(job, 'built 1');
      writeFileSync(join(directory, 'in.txt'), `${port}\n`);
      const { text } = await shell.next(job, 'built 2');
      await shell.stop(job);
      return text.includes('built 2') ? 'built 2' : 'unknown';
    },
  },
  {
    name: 'a job that fails while something else is done',
    files: { 'migrate.sh': 'sleep 1; echo "fatal: lock timeout"; exit 5\n' },
    truth: 'failed',
    async work(shell) {
      const job = await shell.later('bash migrate.sh');
      let had = '';
      for (const command of ['ls -la', 'sleep 2; echo "reviewed"', 'wc -c migrate.sh', 'uname -s'])
        had += `${(await shell.run(command)).text}\n`;
      return told((await shell.check(job, had)).failed);
    },
  },
  {
    name: 'an installation with a progress bar',
    files: {
      'install.js':
        'for (let n = 0; n <= 2000; n++) process.stdout.write(`fetch package ${n} of 2000: ${(n / 20).toFixed(2)} % done, ${n * 37} kB\\n`); console.log("added 2000 packages, 0 errors");\n',
    },
    truth: 'succeeded',
    work: async (shell) => told((await shell.run('node install.js')).failed),
  },
  {
    name: 'a failure before much noise',
    files: {
      'check.sh': `echo "src/a.ts:4:7 - error TS2322: Type string is not assignable to number"\n${noise(1, 3000, 'checked file')}\necho "done"; exit 1\n`,
    },
    truth: 'src/a.ts:4:7',
    async work(shell) {
      const { text } = await shell.find('bash check.sh', 'error TS');
      return text.includes('src/a.ts:4:7') ? 'src/a.ts:4:7' : 'unknown';
    },
  },
];
