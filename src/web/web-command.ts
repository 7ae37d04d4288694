/** `mcp-shell-server web`: serves the operator's page until Ctrl-C, and prints the links that open it. */
import type { App } from '../app.ts';
import { ShellServerError } from '../base/errors.ts';
import type { WebFlags } from '../commands/command-line.ts';
import type { CommandContext } from '../commands/context.ts';
import { startHelper } from '../executions/helper.ts';
import type { MountedPage, PageContext } from '../server/http/http.ts';
import { createInspect, type InspectOptions } from './inspect-routes.ts';
import { createPageSite, type SiteOptions } from './page-site.ts';
import { serveWeb, type WebOptions } from './web.ts';

export { createInspect } from './inspect-routes.ts';

type RunOptions = WebFlags & Omit<WebOptions, 'settings' | 'port' | 'isReadOnly'>;

export async function runWeb(context: CommandContext, options: RunOptions): Promise<void> {
  const { input, output, interrupted } = context;
  const settings = context.settings();
  const isReadOnly = options.readOnly === true;
  const web = await serveWeb({ ...options, settings, isReadOnly, port: parsePort(options.port) });
  const showLink = (): string => {
    const link = web.createLink();
    output.write(`  ${link}\n`);
    return link;
  };
  output.write(`The operator's page for ${settings.stateDir}${isReadOnly ? ', read-only' : ''}:\n`);
  const first = showLink();
  output.write('The link works once, within ten minutes. Enter prints another one, Ctrl-C stops the page.\n');
  if (options.open === true) {
    await openBrowser(first, settings.environment).catch(() =>
      output.write('No browser could be opened. Open the link yourself.\n'),
    );
  }
  const onLine = (): void => void showLink();
  input.on('data', onLine);
  await new Promise<void>((resolve) => {
    interrupted.addEventListener('abort', () => resolve(), { once: true });
  });
  input.off('data', onLine);
  input.pause();
  await web.close();
}

type HttpPageOptions = Omit<SiteOptions, 'settings' | 'isReadOnly' | 'inspect'> &
  Omit<InspectOptions, 'openApp'> & { readonly app: App };

/** The page of a server over HTTP, which has an app already. */
export function openHttpPage(options: HttpPageOptions): (context: PageContext) => MountedPage {
  const { app, loaded } = options;
  const inspect = {
    ...createInspect({ ...options, openApp: async () => app }),
    dispose: async () => undefined,
  };
  return (context) =>
    createPageSite(
      { ...options, settings: loaded.settings, isReadOnly: false, inspect },
      { ...context, signIn: 'Sign in with MCP_SHELL_TOKEN, or the token that the server printed.' },
    );
}

function parsePort(text: string | undefined): number {
  const port = Number(text ?? '0');
  if (/^\d{1,5}$/.test(text ?? '0') && port <= 65_535) return port;
  throw new ShellServerError('PARAM_002', `--port is not a port: ${JSON.stringify(text)}.`, {
    hint: 'It must be a whole number, 0 to 65535; 0 takes any that is free.',
  });
}

const OPENING_MS = 2000;
const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ['/usr/bin/open'],
  win32: ['rundll32.exe', 'url.dll,FileProtocolHandler'],
};

/** The one that the operator has chosen (editors set it in their terminals), else that of the desktop. */
function openerOf({ BROWSER = '' }: Readonly<Record<string, string>>): readonly string[] {
  const [chosen = ''] = BROWSER.split(':');
  return chosen === '' ? (OPENERS[process.platform] ?? ['xdg-open']) : [chosen];
}

/** It may become the browser itself, and is then left alone. */
function openBrowser(link: string, environment: Readonly<Record<string, string>>): Promise<void> {
  return new Promise((resolve, reject) => {
    const argv = [...openerOf(environment), link];
    const opener = startHelper({ argv, environment });
    opener.stdout?.resume();
    opener.stderr?.resume();
    opener.unref();
    opener.once('error', reject);
    opener.once('exit', (code) => (code === 0 ? resolve() : reject(new Error('the browser did not open'))));
    setTimeout(resolve, OPENING_MS).unref();
  });
}
