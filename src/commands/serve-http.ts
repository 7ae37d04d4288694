/** The server over HTTP: its tokens, its listeners, and the order in which it leaves. */
import { randomBytes } from 'node:crypto';
import { grantedNames } from '../all-tools.ts';
import type { App } from '../app.ts';
import { ShellServerError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Settings } from '../base/settings.ts';
import { watchTokens } from '../security/tokens/tokens.ts';
import { createTokens } from '../server/auth.ts';
import { clientSetup } from '../server/client-setup.ts';
import { isLoopback, type PageOptions, serveHttp } from '../server/http/http.ts';

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
}) {
  const { app, settings, log, nodePath, cliPath, openPage } = options;
  const { metrics } = settings.http;
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
    ...settings.http,
    factory: await app.factory(),
    dispatch: app.dispatch,
    tokens: createTokens(entries, { stored, grantedNames, onAccepted: app.admit }),
    page: openPage && { operator: createTokens(entries), open: openPage },
    log,
    onDeniedRequest: app.recordDeniedRequest,
    onAnswered: observation?.onAnswered,
  }).catch(async (error: unknown) => {
    await observation?.close();
    throw error;
  });
  observation?.watch(server);

  const [count, link] = [stored().length, server.createPageLink()];
  const lines = [
    `Listening on ${server.url}`,
    own && `Token: ${own.shown}`,
    count > 0 && `Tokens on disk: ${count} (mcp-shell-server token list)`,
    observation && `Health and metrics: ${observation.url}`,
    // The code in it works once, within ten minutes: in a log it is soon of no use.
    link && `Operator's page: ${link} (works once, within ten minutes)`,
  ];
  const setup = clientSetup({ url: server.url, token: own?.shown ?? '<token>', cliPath, nodePath });
  return {
    /** For the person who started it. */
    welcome: `${lines.filter(Boolean).join('\n')}\n\n${setup}\n`,
    /** Lets answers out that are under way, ends what runs, and closes. */
    async close(): Promise<void> {
      await server.drain(LIMITS.drainMs);
      // What still runs is ended now, and waiting calls report it.
      await app.dispose();
      await server.drain(LIMITS.lastAnswersMs);
      await Promise.all([server.close(), observation?.close()]);
    },
  };
}

/**
 * The operator's own: the one of the environment, or on loopback one for this run. Where others can connect, none is
 * made up, since it would end in a log; without any the server does not start there.
 */
function ownToken({ environment, http }: Settings, hasStored: boolean) {
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
