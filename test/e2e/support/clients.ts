/**
 * Real MCP clients behind one small interface: the official one of today in its three ways of negotiating, and two
 * of the 1.x line, the newest and one from before structured content.
 */
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';

export const CLIENT_KINDS = ['v2 legacy', 'v2 auto', 'v2 modern', 'sdk 1.32', 'sdk 1.12'] as const;
export type ClientKind = (typeof CLIENT_KINDS)[number];

export interface ToolAnswer {
  readonly content: { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: Record<string, unknown>;
  readonly isError?: boolean;
}

export interface CallOptions {
  readonly onprogress?: (progress: { progress: number; message?: string }) => void;
  readonly signal?: AbortSignal;
  /** How long the client waits for an answer; 60 s unless told. */
  readonly timeout?: number;
}

export interface TestClient {
  readonly serverInfo:
    | { readonly name: string; readonly version: string; readonly title?: string }
    | undefined;
  readonly instructions: string | undefined;
  /** What the client itself complained of, such as messages it could not read. */
  readonly errors: Error[];
  listTools(
    options?: Pick<CallOptions, 'timeout'>,
  ): Promise<{ name: string; inputSchema: unknown; outputSchema?: unknown }[]>;
  callTool(name: string, args: Record<string, unknown>, options?: CallOptions): Promise<ToolAnswer>;
  close(): Promise<void>;
}

/** The person before a client: what a question is answered with. */
export type Asked = (question: AskedQuestion) => Promise<ElicitReply>;

export interface AskedQuestion {
  readonly message: string;
  readonly requestedSchema: unknown;
  /** Aborts when the server no longer wants an answer. */
  readonly signal: AbortSignal;
}

export interface ElicitReply {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Record<string, string | number | boolean>;
}

export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/**
 * The official client asks for the server's version in a process that it starts for that alone, and never in one of
 * a subclass: most tests need no second server, which would double their time.
 */
class StdioInPlace extends StdioV2 {}

export function connectStdio(kind: ClientKind, server: ServerCommand, asked?: Asked): Promise<TestClient> {
  const parameters = { ...server, args: [...server.args], env: { ...server.env }, stderr: 'ignore' as const };
  const transports = {
    v2: () => (kind === 'v2 auto' ? new StdioInPlace(parameters) : new StdioV2(parameters)),
    newest1: async () => new (await import('sdk-1-newest/client/stdio.js')).StdioClientTransport(parameters),
    sdk12: async () => new (await import('sdk-1-12/client/stdio.js')).StdioClientTransport(parameters),
  };
  return connect(kind, transports, asked);
}

export function connectHttp(
  kind: ClientKind,
  url: string,
  token?: string,
  asked?: Asked,
): Promise<TestClient> {
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const options = { requestInit: { headers } };
  const transports = {
    v2: () => new HttpV2(new URL(url), options),
    newest1: async () => {
      const { StreamableHTTPClientTransport } = await import('sdk-1-newest/client/streamableHttp.js');
      return new StreamableHTTPClientTransport(new URL(url), options);
    },
    sdk12: async () => {
      const { StreamableHTTPClientTransport } = await import('sdk-1-12/client/streamableHttp.js');
      return new StreamableHTTPClientTransport(new URL(url), options);
    },
  };
  return connect(kind, transports, asked);
}

/** Over a transport of the test's own, which all of them take. */
export function connectOver(kind: ClientKind, transport: unknown, asked?: Asked): Promise<TestClient> {
  return connect(kind, { v2: () => transport, newest1: () => transport, sdk12: () => transport }, asked);
}

const INFO = { name: 'test-client', version: '1.2.3' };

/** The older ones are only loaded where they are used: most tests have none. */
type Transports = Record<'v2' | 'newest1' | 'sdk12', () => unknown>;

/** What the three SDKs have in common, though not by their types. */
interface AnyClient {
  onerror?: ((error: Error) => void) | undefined;
  connect(transport: unknown): Promise<void>;
  close(): Promise<void>;
  getServerVersion(): unknown;
  getInstructions(): string | undefined;
  listTools(
    params: Record<string, unknown>,
    options?: Pick<CallOptions, 'timeout'>,
  ): Promise<{ tools: unknown[] }>;
}

async function connect(kind: ClientKind, transports: Transports, asked?: Asked): Promise<TestClient> {
  const { client, transport } = await create(kind, transports, asked);
  const errors: Error[] = [];
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's callback, no DOM event
  client.onerror = (error) => errors.push(error);
  await client.connect(transport);
  return {
    get serverInfo() {
      return client.getServerVersion() as TestClient['serverInfo'];
    },
    get instructions() {
      return client.getInstructions();
    },
    errors,
    listTools: async (options) =>
      (await client.listTools({}, options)).tools as Awaited<ReturnType<TestClient['listTools']>>,
    callTool: (name, args, options = {}) => call(kind, client, { name, arguments: args }, options),
    close: () => client.close(),
  };
}

async function create(
  kind: ClientKind,
  transports: Transports,
  asked: Asked | undefined,
): Promise<{ client: AnyClient; transport: unknown }> {
  const capabilities = asked === undefined ? {} : { elicitation: { form: {} } };
  if (kind === 'sdk 1.32') {
    const { Client } = await import('sdk-1-newest/client/index.js');
    const { ElicitRequestSchema } = await import('sdk-1-newest/types.js');
    const client = new Client(INFO, { capabilities });
    if (asked !== undefined)
      client.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) => ({
        ...(await asked({ ...(params as Omit<AskedQuestion, 'signal'>), signal })),
      }));
    return { client, transport: await transports.newest1() };
  }
  // It knows of no questions.
  if (kind === 'sdk 1.12') {
    const { Client } = await import('sdk-1-12/client/index.js');
    return { client: new Client(INFO), transport: await transports.sdk12() };
  }
  const modes = { 'v2 legacy': 'legacy', 'v2 auto': 'auto', 'v2 modern': { pin: '2026-07-28' } } as const;
  const client = new ClientV2(INFO, { capabilities, versionNegotiation: { mode: modes[kind] } });
  if (asked !== undefined)
    client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq: { signal } }) => ({
      ...(await asked({ ...(params as Omit<AskedQuestion, 'signal'>), signal })),
    }));
  return { client, transport: transports.v2() };
}

/** The 1.x line takes a schema of the result between the parameters and the options. */
async function call(
  kind: ClientKind,
  client: AnyClient,
  params: object,
  options: CallOptions,
): Promise<ToolAnswer> {
  const { callTool } = client as unknown as { callTool: (...args: unknown[]) => Promise<ToolAnswer> };
  const args = kind.startsWith('v2') ? [params, options] : [params, undefined, options];
  return callTool.apply(client, args);
}
