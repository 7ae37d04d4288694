/** The server over HTTP: its tokens, its listeners, and the order in which it leaves. */
import { randomBytes } from 'node:crypto';
import type { App } from '../app.ts';
import { ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Settings } from '../base/settings.ts';
import { watchTokens } from '../security/tokens/tokens.ts';
import { createTokens } from '../server/auth.ts';
import { clientSetup } from '../server/client-setup.ts';
import { isLoopback, type PageOptions, serveHttp } from '../server/http/http.ts';
import type { Observation } from '../server/operation.ts';

export interface ServedHttp {
  /** For the person who started it. */
  readonly welcome: string;
  /** Lets answers out that are under way, ends what runs, and closes. */
  close(): Promise<void>;
}

/** Shorter ones can be guessed. */
const MIN_TOKEN_LENGTH = 20;

export async function serveOverHttp(options: {
  readonly app: App;
  readonly settings: Settings;
  readonly log: Log;
  /** How a client would start the server itself. */
  readonly nodePath: string;
  readonly cliPath: string;
  /** Present where the settings turn on the operator's page. */
  readonly openPage?: PageOptions['open'] | undefined;
}): Promise<ServedHttp> {
  const { app, settings, log, nodePath, cliPath, openPage } = options;
  const { host, port, publicUrl, tls, metrics } = settings.http;
  const stored = watchTokens({ stateDirectory: settings.stateDir, log });
  const own = ownToken(settings, stored().length > 0);
  const entries = own === undefined ? [] : [{ token: own.token, principal: 'local' }];
  if (openPage !== undefined && own === undefined) throw noOperator();
  const observation =
    metrics.port === undefined
      ? undefined
      : await (await import('../server/operation.ts')).serveOperation({
          ...metrics,
          port: metrics.port,
          app,
        });
  const server = await serveHttp({
    host,
    port,
    publicUrl,
    tls,
    factory: await app.factory(),
    dispatch: app.dispatch,
    tokens: createTokens(entries, { stored, onAccepted: app.admit }),
    ...(openPage !== undefined && { page: { operator: createTokens(entries), open: openPage } }),
    log,
    onDeniedRequest: app.recordDeniedRequest,
    ...(observation !== undefined && { onAnswered: observation.onAnswered }),
  }).catch(async (error: unknown) => {
    await observation?.close();
    throw error;
  });
  observation?.watch(server);

  const setup = clientSetup({ url: server.url, token: own?.shown ?? '<token>', cliPath, nodePath });
  return {
    welcome: `Listening on ${server.url}\n${describeTokens(own, stored().length)}${describeOperation(observation)}${describePage(server.createPageLink())}\n${setup}\n`,
    async close() {
      await server.drain(LIMITS.drainMs);
      // What still runs is ended now, and waiting calls report it.
      await app.dispose();
      await server.drain(LIMITS.lastAnswersMs);
      await Promise.all([server.close(), observation?.close()]);
    },
  };
}

interface OwnToken {
  readonly token: string;
  readonly shown: string;
}

/**
 * The operator's own: the one of the environment, or on loopback one for this run. Where others can connect, none is
 * made up, since it would end in a log; without any the server does not start there.
 */
function ownToken({ environment, http }: Settings, hasStored: boolean): OwnToken | undefined {
  const given = environment['MCP_SHELL_TOKEN'];
  if (given !== undefined && given.length < MIN_TOKEN_LENGTH) {
    throw new ShellServerError(
      'SYSTEM_003',
      `MCP_SHELL_TOKEN is shorter than ${MIN_TOKEN_LENGTH} characters.`,
      { hint: 'Use a long random token, or none: the server then creates one.' },
    );
  }
  // A lasting token of the operator's is theirs to know; printed, it would end in a log as well.
  if (given !== undefined) return { token: given, shown: '<MCP_SHELL_TOKEN>' };
  if (isLoopback(http.host)) {
    const token = randomBytes(32).toString('base64url');
    return { token, shown: token };
  }
  if (hasStored) return undefined;
  throw new ShellServerError(
    'SYSTEM_003',
    `The address ${http.host} is reachable from other machines, and no token exists.`,
    { hint: 'Create one with `mcp-shell-server token create <name>`, or listen on 127.0.0.1.' },
  );
}

const noOperator = (): ShellServerError =>
  new ShellServerError('SYSTEM_003', 'http.ui is on, and the operator has no token to open the page with.', {
    hint: 'Set MCP_SHELL_TOKEN, or turn http.ui off.',
  });

/** The code in it works once, within ten minutes: in a log it is soon of no use. */
const describePage = (link: string | undefined): string =>
  link === undefined ? '' : `Operator's page: ${link} (works once, within ten minutes)\n`;

function describeTokens(own: OwnToken | undefined, count: number): string {
  const stored = count === 0 ? '' : `Tokens on disk: ${count} (mcp-shell-server token list)\n`;
  return `${own === undefined ? '' : `Token: ${own.shown}\n`}${stored}`;
}

const describeOperation = (observation: Observation | undefined): string =>
  observation === undefined ? '' : `Health and metrics: ${observation.url}\n`;
