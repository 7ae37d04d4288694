/**
 * The fixture tools as a program: stdio, or HTTP with `--http` (its URL on stderr). What `wait` saw goes to the file
 * named by FIXTURE_LOG, since a client's process is all that others see of it.
 */
import { appendFileSync } from 'node:fs';
import { silentLog } from '../../../src/base/log.ts';
import { serveHttp } from '../../../src/server/http/http.ts';
import { serveStdioConnection } from '../../../src/server/stdio.ts';
import { createFixtureFactory, createFixtureOffer, createFixtureTools } from './fixture-tools.ts';

const logFile = process.env['FIXTURE_LOG'];
const fixtures = createFixtureTools((entry) => {
  if (logFile !== undefined) appendFileSync(logFile, `${entry}\n`);
});

if (process.argv.includes('--http')) {
  const listener = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    factory: createFixtureFactory(fixtures),
    log: silentLog,
    limits: { resumeWindowMs: 500 },
  });
  process.stderr.write(`${listener.url}\n`);
} else {
  const connection = serveStdioConnection({
    input: process.stdin,
    output: process.stdout,
    offer: createFixtureOffer(fixtures),
    log: silentLog,
  });
  await connection.closed;
  process.exit(0);
}
