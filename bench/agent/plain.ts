/**
 * The tool that most agents have: runs a command in bash, waits for it and answers with its exit code and its output, the
 * middle of which is cut out where it is long. It kills what takes longer than its limit, and has no stdin.
 */
import { spawn } from 'node:child_process';
import { type Job, looksFailed, type Meter, type Seen, type Shell } from './shell.ts';

const LIMIT_MS = 12_000;
const LONGEST_SLEEP = 10;
const MAX_CHARS = 30_000;

export function createPlain(cwd: string, meter: Meter): Shell {
  let last = 0;
  /** Process groups of its commands: what is left in one when the task is over is ended. */
  const groups: number[] = [];

  const run = (command: string): Promise<Seen> => meter.turn(async () => call(command));

  async function call(command: string): Promise<Seen> {
    const { text, code } = await execute(command, cwd, groups);
    const shown = meter.read(`${text}${text === '' || text.endsWith('\n') ? '' : '\n'}(exit code ${code})`);
    return { text: shown, failed: looksFailed(shown, code) };
  }

  /** In the background, with its exit code at the end of a log, and a first look at that. */
  async function begin(command: string, look = ''): Promise<Job> {
    last += 1;
    const id = `job${last}`;
    const quoted = command.replaceAll("'", `'\\''`);
    const seen = await run(
      `nohup bash -c '(${quoted}); echo "exit code: $?"' > ${id}.log 2>&1 & echo $! > ${id}.pid; ${look === '' ? 'echo started' : `sleep ${look}; tail -n 20 ${id}.log`}`,
    );
    return { id, seen };
  }

  /** Sleeps longer each time, as long as the tool lets it, between two looks at the end of the log. */
  async function until(job: Job, isDone: (text: string) => boolean, seconds: number): Promise<Seen> {
    for (let looks = 0, { text } = job.seen; ; looks++) {
      const code = /^exit code: (\d+)$/m.exec(text)?.[1];
      if (code !== undefined || isDone(text) || looks > 20)
        return { text, failed: looksFailed(text, code === undefined ? undefined : Number(code)) };
      const pause = Math.min(seconds * 2 ** looks, LONGEST_SLEEP);
      ({ text } = await run(`sleep ${pause}; tail -n 20 ${job.id}.log`));
    }
  }

  const unread = (job: Job): Job => ({ ...job, seen: { text: '', failed: false } });

  return {
    run,
    async long(command) {
      const first = await run(command);
      if (!first.text.includes('timed out')) return first;
      return until(await begin(command), () => false, LONGEST_SLEEP);
    },
    async serve(command, { line }) {
      const job = await begin(command, '0.3');
      return { id: job.id, seen: await until(job, (text) => text.includes(line), 0.5) };
    },
    later: (command) => begin(command),
    check: (job) => run(`tail -n 20 ${job.id}.log`),
    async many(commands) {
      const log = (at: number): string => `many${at}.log`;
      const starts = commands.map(
        (command, at) => `nohup bash -c '(${command}); echo "exit code: $?"' > ${log(at)} 2>&1 &`,
      );
      await run(`${starts.join(' ')} echo started`);
      for (;;) {
        const { text } = await run(`sleep ${LONGEST_SLEEP}; tail -n 5 many*.log`);
        const codes = [...text.matchAll(/^exit code: (\d+)$/gm)].map(([, code]) => Number(code));
        if (codes.length === commands.length) return codes.map((code) => ({ text, failed: code !== 0 }));
      }
    },
    next: (job, text) => until(unread(job), (shown) => shown.includes(text), 0.5),
    async find(command, text) {
      const first = await run(command);
      if (first.text.includes(text)) return first;
      // Its middle is gone: once more, into a file.
      return run(`${command} > all.log 2>&1; grep -n '${text}' all.log | tail -n 20`);
    },
    async interact(command, answer) {
      const answers: string[] = [];
      for (;;) {
        const piped =
          answers.length === 0 ? '' : `printf '${answers.map((each) => `${each}\\n`).join('')}' | `;
        const seen = await run(`${piped}${command}`);
        const reply = answer(seen.text);
        if (reply === undefined || answers.length > 10) return seen;
        answers.push(reply);
      }
    },
    async stop(job) {
      await run(`kill $(cat ${job.id}.pid); pkill -P $(cat ${job.id}.pid); true`);
    },
    close: async () => groups.forEach(kill),
  };
}

function execute(command: string, cwd: string, groups: number[]): Promise<{ text: string; code: number }> {
  return new Promise((resolve) => {
    const child = spawn('/bin/bash', ['-c', command], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const group = child.pid ?? 0;
    groups.push(group);
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    const end = (code: number, note = ''): void => {
      clearTimeout(timer);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ text: cut(Buffer.concat(chunks).toString()) + note, code });
    };
    const timer = setTimeout(() => {
      kill(group);
      end(143, '\nCommand timed out and was killed.');
    }, LIMIT_MS);
    child.once('exit', (code) => setTimeout(() => end(code ?? 137), 20));
  });
}

function kill(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // Nobody is left in it.
  }
}

function cut(text: string): string {
  if (text.length <= MAX_CHARS) return text;
  const half = MAX_CHARS / 2;
  return `${text.slice(0, half)}\n[… ${text.length - MAX_CHARS} characters cut …]\n${text.slice(-half)}`;
}
