/** `npm run bench audit`: what a line of the audit log costs, against a bare append, and how fast a log is verified. */
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/base/clock.ts';
import { createAudit } from '../src/security/audit/audit.ts';
import { verifyAudit } from '../src/security/audit/verify.ts';
import { percentile, say } from './support.ts';

const LINES = 100_000;
const BATCH = 1000;

const directory = mkdtempSync(join(tmpdir(), 'bench-audit-'));
const audit = createAudit({ directory, instance: 'inst_bench', clock: systemClock });
const bare = openSync(join(directory, 'bare'), 'a');

/** Microseconds for each, of a thousand. */
function time(run: (n: number) => void): number {
  const began = performance.now();
  for (let n = 0; n < BATCH; n++) run(n);
  return ((performance.now() - began) * 1000) / BATCH;
}

function write(n: number): void {
  audit.write({
    event: 'execution_allowed',
    decision: 'allow',
    rule: 'permissive: nothing forbids it',
    principal: 'local',
    client: 'claude-code',
    requestId: 'req_hf3m2wz5y7c9k4b6n8p2q4r6s8',
    executionId: `exec_hf3m2wz5y7c9k4b6n8p2q4${n}`,
    command: 'cd packages/core && npm run build -- --watch=false && npm test 2>&1 | tail -n 50',
    mode: 'foreground',
    session: 'main',
    directory: '/home/me/project',
  });
}

const line = Buffer.from(`${'x'.repeat(640)}\n`);
const lines: number[] = [];
const appends: number[] = [];
// Taken in turns, so that a busy moment of the machine falls on both.
for (let done = 0; done < LINES; done += BATCH) {
  lines.push(time(write));
  appends.push(time(() => writeSync(bare, line)));
}
audit.close();
closeSync(bare);
rmSync(join(directory, 'bare'));
const p50 = percentile(lines, 0.5);
say(
  `a line: p50 ${p50.toFixed(1)} µs, p99 ${percentile(lines, 0.99).toFixed(1)} µs (allowed 50); a bare append p50 ${percentile(appends, 0.5).toFixed(1)} µs; ratio ${(p50 / percentile(appends, 0.5)).toFixed(1)}`,
);

const readBegan = performance.now();
for (const name of readdirSync(directory)) readFileSync(join(directory, name));
const readMs = performance.now() - readBegan;
const began = performance.now();
const { problems, lines: count } = verifyAudit({ directory });
const verifyMs = performance.now() - began;
say(
  `${count} lines verified in ${(verifyMs / 1000).toFixed(2)} s (${problems.length} problems); to read them takes ${readMs.toFixed(0)} ms`,
);
rmSync(directory, { recursive: true });
