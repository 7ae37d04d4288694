/**
 * The operator's page: what `top`, `terminals`, `attach` and `audit` show, in a browser on this machine, for all servers
 * on a state directory. It runs nothing and decides nothing; whatever it changes goes the way of those commands.
 */
import { createServer, type Server } from 'node:http';
import { errnoOf, messageOf, ShellServerError } from '../base/errors.ts';
import { announcePage } from '../security/questions/questions.ts';
import { createPageSite, type SiteOptions } from './page-site.ts';

export interface WebOptions extends SiteOptions {
  /** 0 takes any that is free. */
  readonly port: number;
}

export type Web = Awaited<ReturnType<typeof serveWeb>>;

const HOST = '127.0.0.1';

export async function serveWeb(options: WebOptions) {
  const server = createServer({ requireHostHeader: false, maxHeaderSize: 16 * 1024 });
  const port = await listen(server, options.port);
  const hosts = [HOST, 'localhost', '[::1]'].map((name) => `${name}:${port}`);
  const site = createPageSite(options, {
    base: '/',
    port,
    origins: new Map(hosts.map((host) => [host, `http://${host}`])),
    signIn: 'Press Enter where `mcp-shell-server web` runs, and open the new link.',
  });
  server.on('request', site.answer);
  server.on('upgrade', site.upgrade);
  // Where nothing can be answered, nobody is led to.
  const announced = options.isReadOnly
    ? undefined
    : announcePage(options.settings.stateDir, `http://${HOST}:${port}/`);
  return {
    port,
    /** A link that works once, for ten minutes. */
    createLink: site.createLink,
    async close(): Promise<void> {
      announced?.close();
      site.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
      await site.dispose();
    },
  };
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const isTaken = errnoOf(error) === 'EADDRINUSE';
      const message = isTaken ? `The port ${port} is in use.` : messageOf(error);
      reject(
        new ShellServerError('SYSTEM_003', message, { hint: 'Choose another with --port.', cause: error }),
      );
    });
    server.listen(port, HOST, () => {
      server.removeAllListeners('error');
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}
