/** The protocol's own suite against the product over HTTP, for the newest revision of each era. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCatalogue } from '../../../src/all-tools.ts';
import type { App } from '../../../src/app.ts';
import { loadSettings } from '../../../src/base/config/config.ts';
import { silentLog } from '../../../src/base/log.ts';
import { createFront } from '../../../src/front.ts';
import { type HttpListener, serveHttp } from '../../../src/server/http/http.ts';
import { ROOT } from '../../support/root.ts';
import { createPlace, type Place } from '../support/product.ts';
import { withOverlay } from './overlay.ts';

const SUITE = join(ROOT, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
/** The suite runs on nothing older; `.ci/run` has one that is newer. */
const isOldNode = Number(process.versions.node.split('.')[0]) < 22;

let place: Place;
let app: App;
let listener: HttpListener;
beforeAll(async () => {
  place = createPlace();
  const { settings } = loadSettings({
    flags: { stateDir: place.stateDir },
    environment: { PATH: process.env['PATH'] ?? '' },
    cwd: place.work,
    homedir: place.directory,
  });
  const front = await createFront({
    catalogue: await createCatalogue(),
    settings,
    version: '0.0.0-test',
    wrapperPath: join(ROOT, 'dist/wrapper.js'),
    hostPath: join(ROOT, 'dist/pty-host.js'),
    searchWorkerPath: join(ROOT, 'dist/search-worker.js'),
    scripts: join(ROOT, 'dist/shell-integration'),
    installation: [join(ROOT, 'dist')],
    log: silentLog,
  });
  app = await front.app();
  const { dispatch } = app;
  listener = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    factory: withOverlay(await app.factory()),
    dispatch,
    log: silentLog,
  });
});
afterAll(async () => {
  await listener.close();
  await app.dispose();
  place.remove();
});

test.skipIf(isOldNode).each(['2025-11-25', '2026-07-28'])(
  'passes what revision %s requires',
  async (revision) => {
    const args = [SUITE, 'server', '--url', listener.url, '--requirements', revision, '--timeout', '60000'];
    const ran = promisify(execFile)(process.execPath, args, { cwd: place.directory, maxBuffer: 2 ** 26 });
    const { code, stdout } = await ran.then(
      (done) => ({ code: 0, ...done }),
      (error: { code: number; stdout: string }) => error,
    );
    const summary = stdout.slice(stdout.indexOf('=== SUMMARY ==='));
    const [scored = ''] = summary.split('Not scored');
    const unscored = [...summary.matchAll(/^ {2}[✓✗] (\S+) \(/gmu)].map(([, name]) => name);
    const failed = [...scored.matchAll(/^✗ (\S+?):/gmu)].map(([, name]) => name);
    expect(failed.filter((name) => !unscored.includes(name))).toEqual([]);
    expect(code).toBe(0);
    expect(summary).toContain('✓ tools-list');
  },
);
