/**
 * Around each test file: it fails if it leaves a child process or a listening server, which would outlive it or keep
 * its worker from ending.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect } from 'vitest';

/** Only what a test opens and nothing else does: sockets and pipes belong to vitest and to fetch's pool as well. */
const WATCHED = ['ProcessWrap', 'TCPServerWrap', 'UDPWrap', 'FSEventWrap', 'StatWatcher'];
/** Closing takes a turn or more of the event loop, and a child that was killed must be reaped. */
const GRACE_MS = 2000;

process.env.SHELL_TEST_FILE = expect.getState().testPath ?? '';
const before = watchedResources();

// Registered before the file's own hooks, so it runs after them.
afterAll(async () => {
  const deadlineMs = Date.now() + GRACE_MS;
  while (added().length > 0 && Date.now() < deadlineMs) await sleep(20);
  const left = added();
  if (left.length > 0) throw new Error(`Left open by this file: ${left.join(', ')}`);
});

function added(): string[] {
  const known = [...before];
  return watchedResources().filter((name) => {
    const index = known.indexOf(name);
    if (index !== -1) known.splice(index, 1);
    return index === -1;
  });
}

function watchedResources(): string[] {
  return process.getActiveResourcesInfo().filter((name) => WATCHED.includes(name));
}
