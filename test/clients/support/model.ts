/**
 * A model that plays a script: an HTTP server on loopback that speaks what Claude Code, Codex and Gemini CLI speak with
 * theirs, and records the tools and the tool results that reach it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { anthropic } from './anthropic.ts';
import { gemini } from './gemini.ts';
import { openai } from './openai.ts';

/** A tool call of the script. What it needs of earlier results, such as an id, it takes from them. */
export interface Step {
  readonly tool: string;
  readonly args: Json | ((results: readonly string[]) => Json);
}

export type Json = Readonly<Record<string, unknown>>;

/** A tool as its description reaches the model. */
export interface OfferedTool {
  /** As the server calls it, without the client's prefix. */
  readonly name: string;
  readonly description: string;
  readonly schema: Json;
}

export interface Conversation {
  readonly tools: readonly OfferedTool[];
  /** What the model reads of each call, in the order of the calls. */
  readonly results: readonly string[];
}

export type Reply =
  | { readonly call: { readonly tool: string; readonly args: Json } }
  | { readonly say: string };

/** One of the three APIs. */
export interface Api {
  readonly path: RegExp;
  /** Undefined for a request that is not part of the conversation, such as one for a title. */
  read(body: Json, server: string): Conversation | undefined;
  /** The events of a streamed answer. */
  reply(reply: Reply, server: string, number: number): readonly Event[];
}

export interface Event {
  readonly name?: string;
  readonly data: Json;
}

export interface Model {
  readonly url: string;
  /** As the latest request of the client has it. */
  conversation(): Conversation;
  /** Requests that the model did not know. */
  unknown(): readonly string[];
  close(): Promise<void>;
}

const APIS: readonly Api[] = [anthropic, openai, gemini];

/** Plays the script to a client that has our server under this name. */
export async function startModel(
  script: readonly Step[],
  { server: serverName, unwrap }: { server: string; unwrap: (result: string) => string },
): Promise<Model> {
  let conversation: Conversation = { tools: [], results: [] };
  const unknown: string[] = [];

  function next(body: Json, api: Api): Reply & { number: number } {
    const read = api.read(body, serverName);
    if (read === undefined) return { say: 'done', number: 0 };
    conversation = read;
    const results = read.results.map(unwrap);
    const step = script[results.length];
    const number = results.length;
    if (step === undefined) return { say: 'done', number };
    const args = typeof step.args === 'function' ? step.args(results) : step.args;
    return { call: { tool: step.tool, args }, number };
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1');
    const body = await text(request);
    const api = APIS.find(({ path }) => path.test(pathname));
    if (api === undefined || request.method !== 'POST') {
      unknown.push(`${request.method} ${pathname}`);
      response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
      return;
    }
    const { number, ...reply } = next(JSON.parse(body) as Json, api);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const { name, data } of api.reply(reply, serverName, number))
      response.write(`${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`);
    response.end();
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    conversation: () => conversation,
    unknown: () => unknown,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
