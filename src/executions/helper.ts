/** Runs a fixed program of ours to its end, for what security/ must try out. Nothing a caller said is in it. */
import { spawn } from 'node:child_process';
import type { RunHelper } from '../security/security.ts';
import { createGate, OUTER_ENVIRONMENT, startBehind } from './gate.ts';

const TIMEOUT_MS = 5000;
const MAX_BYTES = 64 * 1024;

export const runHelper: RunHelper = ({ argv, wall, environment = {}, timeoutMs = TIMEOUT_MS }) => {
  const start = wall === undefined ? undefined : startBehind(wall, { argv, directory: '/' });
  const [file = '', ...args] = start?.argv ?? argv;
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      cwd: '/',
      env: wall === undefined ? { ...environment } : { ...OUTER_ENVIRONMENT },
      stdio: ['ignore', 'pipe', 'pipe', 'ignore', ...(start?.stdio ?? [])],
      detached: true,
    });
    if (wall?.kind === 'bubblewrap' && child.pid !== undefined) createGate(child, wall, environment).open();
    let stdout = '';
    let stderr = '';
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      if (stdout.length < MAX_BYTES) stdout += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      if (stderr.length < MAX_BYTES) stderr += text;
    });
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, stdout, stderr });
    });
  });
};
