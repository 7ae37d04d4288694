/** What a command starts ends with it, whatever it did to get away; and no bomb takes the server with it. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { quoted, type User } from '../e2e/escapes/attempt.ts';
import { createHouse, createUndoing, type House, type Server, startIn } from '../e2e/escapes/stage.ts';
import { SURVIVORS } from '../e2e/escapes/survivors.ts';
import { lacks, needs } from '../setup/needs.ts';

const cannotRun =
  needs('bwrap', 'python3') ||
  lacks(process.getuid?.() !== 0, 'endings are tried as two users, which takes root');

/** A number of seconds by which a sleep is known. */
const lengthOf = (index: number): string => `${3000 + index}.${process.pid}`;

/** The names of ways whose sleep is still there. */
function alive(lengths: ReadonlyMap<string, string>): string[] {
  const lines = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ')];
      } catch {
        return [];
      }
    });
  return [...lengths]
    .filter(([, length]) => lines.some((line) => line.trim().endsWith(` ${length}`)))
    .map(([name]) => name);
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1500 && !condition(); tries++) await sleep(10);
}

async function untilAll(lengths: ReadonlyMap<string, string>): Promise<void> {
  await until(() => alive(lengths).length === lengths.size);
  expect(alive(lengths)).toEqual([...lengths.keys()]);
}

let next = 0;
/** All ways at once, and how each is known. */
function everyWay(): { command: string; lengths: Map<string, string> } {
  const lengths = new Map(Object.keys(SURVIVORS).map((name) => [name, lengthOf(next++)]));
  const command = Object.entries(SURVIVORS)
    .map(([name, script]) => `bash -c ${quoted(script(lengths.get(name) ?? ''))}`)
    .join('\n');
  return { command, lengths };
}

describe.skipIf(cannotRun).for<User>(['root', 'ordinary user'])('as %s', (user) => {
  const undoing = createUndoing();
  let house: House;
  let server: Server;
  beforeAll(async () => {
    house = createHouse(user);
    undoing.add(house.remove);
    house.handOver();
    server = await startIn(house, {
      preset: 'sandbox',
      env: { MCP_SHELL_SECURITY_MAX_MEMORY_MB: '256', MCP_SHELL_SECURITY_MAX_PIDS: '100' },
    });
    undoing.add(server.close);
  });
  afterAll(undoing.run);

  describe('nothing survives', () => {
    /** Runs until all of them are there, or the shell has ended. */
    const start = async (rest: string, args: object = {}) => {
      const { command, lengths } = everyWay();
      const answer = server.execute(`${command}\n${rest}`, {
        execution_mode: 'foreground',
        timeout_seconds: 30,
        ...args,
      });
      return { answer, lengths };
    };

    test('the exit of the shell', async () => {
      const { answer, lengths } = await start('sleep 0.3; echo left');
      expect({ stdout: (await answer).data.stdout, alive: alive(lengths) }).toEqual({
        stdout: 'left\n',
        alive: [],
      });
    });

    test('a time limit', async () => {
      const { answer, lengths } = await start('sleep 100', { timeout_seconds: 2 });
      await untilAll(lengths);
      expect({ status: (await answer).data.status, alive: alive(lengths) }).toEqual({
        status: 'timeout',
        alive: [],
      });
    });

    test.for(['TERM', 'KILL'])('process_terminate with %s', async (signal) => {
      const { answer, lengths } = await start('sleep 100', { execution_mode: 'background' });
      const { execution_id } = (await answer).data;
      await untilAll(lengths);
      const { data } = await server.call('process_terminate', { execution_id, signal, force: true });
      expect({ success: data.success, alive: alive(lengths) }).toEqual({ success: true, alive: [] });
    });

    test('the command that ends itself by a signal', async () => {
      const { answer, lengths } = await start('sleep 0.3; kill -KILL $$');
      expect({ success: (await answer).data.success, alive: alive(lengths) }).toEqual({
        success: false,
        alive: [],
      });
    });

    const ENDS: Readonly<Record<string, (other: Server) => Promise<void>>> = {
      'the end of the server': (other) => other.close(),
      'kill -9 of the server': async (other) => void process.kill(other.pid(), 'SIGKILL'),
    };
    test.for(Object.entries(ENDS))('%s', async ([, end]) => {
      const otherHouse = createHouse(user);
      onTestFinished(otherHouse.remove);
      otherHouse.handOver();
      const other = await startIn(otherHouse, { preset: 'development' });
      onTestFinished(other.close);
      const { command, lengths } = everyWay();
      await other.execute(`${command}\nsleep 100`, { execution_mode: 'background' });
      await untilAll(lengths);
      await end(other);
      // The kernel needs a moment after a kill.
      await until(() => alive(lengths).length === 0);
      expect(alive(lengths)).toEqual([]);
    });
  });

  describe('the server and its other executions go on after', () => {
    const py = (code: string): string => `/usr/bin/python3 -I -c ${quoted(code)}`;
    // Without a cgroup the limit has room for what runs on the host, which is counted as well.
    const many = 400 + readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length;
    /** Bounded, in case a sandbox is missing. What each may achieve at most, as a word that it must not print. */
    const BOMBS: Readonly<Record<string, string>> = {
      'a fork bomb': py(
        `import os, time\nn = 0\ntry:\n    for _ in range(${many}):\n        if os.fork() == 0:\n            time.sleep(5); os._exit(0)\n        n += 1\nexcept OSError: pass\nprint("BOOM" if n >= ${many} else "held", n)`,
      ),
      'a bomb of threads': py(
        `import threading, time\nn = 0\ntry:\n    for _ in range(${many}):\n        threading.Thread(target=time.sleep, args=(3,), daemon=True).start(); n += 1\nexcept RuntimeError: pass\nprint("BOOM" if n >= ${many} else "held", n, flush=True)\nimport os; os._exit(0)`,
      ),
      'a memory bomb': py(
        'b = []\nfor _ in range(80): b.append(bytearray(16 << 20))\nimport time; time.sleep(3); print("BOOM")',
      ),
      'a memory bomb of many': py(
        'import os, time\nfor _ in range(12):\n    if os.fork() == 0:\n        b = bytearray(50 << 20); time.sleep(4); os._exit(0)\ntime.sleep(4); print("BOOM")',
      ),
      'a memory bomb in shared memory': py(
        'import mmap, time\nm = mmap.mmap(-1, 700 << 20)\nfor i in range(0, 700 << 20, 4096): m[i] = 1\ntime.sleep(3); print("BOOM")',
      ),
      'a memory bomb in a memfd': py(
        'import mmap, os, time\nf = os.memfd_create("x"); os.ftruncate(f, 700 << 20); m = mmap.mmap(f, 0)\nfor i in range(0, 700 << 20, 4096): m[i] = 1\ntime.sleep(3); print("BOOM")',
      ),
      'a filler of temporary files':
        'n=0; for d in $(realpath /tmp /var/tmp /dev/shm | sort -u); do head -c 300M /dev/zero > $d/filler 2>/dev/null; n=$((n + $(stat -c %s $d/filler))); done; sleep 2; [ $n -gt 400000000 ] && echo BOOM $n',
      'a filler of inodes': py(
        'import os\nn = 0\ntry:\n    for n in range(60000): os.close(os.open(f"/tmp/i{n}", os.O_CREAT | os.O_WRONLY))\nexcept OSError: pass\nprint("made", n)',
      ),
      'a filler of the root, /run and /dev':
        'for d in / /run /dev /home /etc /proc /dev/pts; do (head -c 1M /dev/zero > $d/filler) 2>/dev/null && echo BOOM $d; done; true',
      'a large file':
        'cd; head -c 600M /dev/zero > "$OLDPWD/large" 2>/dev/null; [ "$(stat -c %s "$OLDPWD/large")" -gt 537000000 ] && echo BOOM; rm -f "$OLDPWD/large"; true',
      'open files without end': py(
        'import os\nf = []\ntry:\n    for _ in range(200000): f.append(os.open("/dev/null", os.O_RDONLY))\n    print("BOOM")\nexcept OSError: print("held", len(f))',
      ),
      'locks, timers and queues': py(
        'import socket, os\ns = []\ntry:\n    for _ in range(5000): s.append(socket.socketpair()); s[-1][0].setblocking(False); s[-1][0].send(b"x" * 100000)\nexcept OSError: pass\nprint("made", len(s))',
      ),
      'a flood of output': 'timeout 1 yes | head -c 200M; true',
    };

    test.for(Object.entries(BOMBS))('%s', { timeout: 40_000 }, async ([, command]) => {
      const other = server.execute('for i in 1 2 3; do sleep 0.3; done; echo unharmed', {
        execution_mode: 'foreground',
        timeout_seconds: 20,
      });
      const { data } = await server.execute(command, {
        execution_mode: 'foreground',
        timeout_seconds: 15,
        max_output_size: 2000,
      });
      expect(String(data.stdout)).not.toContain('BOOM');
      expect((await other).data).toMatchObject({ success: true, stdout: 'unharmed\n' });
      expect((await server.execute('echo alive')).data).toMatchObject({ success: true, stdout: 'alive\n' });
    });
  });
});
