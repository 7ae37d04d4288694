import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { loadSettings } from '../base/config/config.ts';
import { silentLog } from '../base/log.ts';
import type { SiteOptions } from './page-site.ts';

export interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
}

export interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: unknown;
}

/** A request as anything may send it; an upgrade is answered with 101 and then closed. */
export function askPort(
  port: number,
  { method = 'GET', path = '/', headers = {}, body }: Asked,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const own = {
      host: `127.0.0.1:${port}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const sent = request(
      { host: '127.0.0.1', port, method, path, headers: { ...own, ...headers }, agent: false },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
      },
    );
    sent.on('upgrade', (_response, socket) => {
      socket.destroy();
      resolve({ status: 101, headers: {}, text: '' });
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** For a page whose files, state and home are below this directory. */
export function pageOptions(directory: string, html: string): SiteOptions {
  const pageDirectory = join(directory, 'page');
  mkdirSync(pageDirectory, { recursive: true });
  writeFileSync(join(pageDirectory, 'index.html'), html);
  writeFileSync(join(pageDirectory, 'page.js'), '1');
  const { settings } = loadSettings({
    flags: { stateDir: join(directory, 'state') },
    environment: {},
    cwd: directory,
    homedir: directory,
    toolsets: {},
  });
  return {
    settings,
    version: '0',
    pageDirectory,
    searchWorkerPath: 'none',
    isReadOnly: false,
    log: silentLog,
  };
}
