/**
 * What the conformance suite asks for besides what a shell server has: tools, resources and prompts of its own, laid
 * over the server object of the product. The product's own tools stay, so that the suite sees its lists, its headers,
 * its streams and its sessions.
 */
import type { Server, ServerContext } from '@modelcontextprotocol/server';
import type { ServerFactory } from '../../../src/server/server.ts';
import { completions, prompts, readResource, resources, templates } from './contents.ts';
import { fixtureTools } from './tools.ts';

type Handler = (request: { params?: unknown }, context: ServerContext) => Promise<Record<string, unknown>>;

/** What is on top may be kept by nobody: the suite wants to see that this is said. */
const FRESH = { ttlMs: 0, cacheScope: 'private' as const };

export function withOverlay(factory: ServerFactory): ServerFactory {
  return (context) => {
    const server = factory(context);
    const own = handlersOf(server);
    const listTools = own('tools/list');
    const callTool = own('tools/call');
    server.registerCapabilities({
      completions: {},
      logging: {},
      prompts: {},
      resources: { subscribe: true },
    });
    const tools = fixtureTools.map(({ name, description = name, properties = {} }) => ({
      name,
      description,
      inputSchema: { type: 'object' as const, properties },
    }));
    server.setRequestHandler('tools/list', async (request, requestContext) => {
      const listed = (await listTools(request, requestContext)) as { tools: typeof tools };
      return { ...listed, tools: [...listed.tools, ...tools] };
    });
    server.setRequestHandler('tools/call', async (request, requestContext) => {
      const { name, arguments: args = {} } = request.params;
      const fixture = fixtureTools.find((tool) => tool.name === name);
      return fixture === undefined
        ? ((await callTool(request, requestContext)) as never)
        : fixture.run({ args: args as Record<string, string>, context: requestContext, server });
    });
    server.setRequestHandler('resources/list', () => ({ resources: [...resources], ...FRESH }));
    server.setRequestHandler('resources/templates/list', () => ({
      resourceTemplates: [...templates],
      ...FRESH,
    }));
    server.setRequestHandler('resources/read', ({ params }) => ({ ...readResource(params.uri), ...FRESH }));
    server.setRequestHandler('prompts/list', () => ({
      prompts: prompts.map(({ name, description, arguments: args }) => ({
        name,
        description,
        arguments: args,
      })),
      ...FRESH,
    }));
    server.setRequestHandler('prompts/get', ({ params }, requestContext) => {
      const prompt = prompts.find(({ name }) => name === params.name);
      if (prompt === undefined) throw new Error(`no prompt ${params.name}`);
      return prompt.get(params.arguments ?? {}, requestContext);
    });
    server.setRequestHandler('completion/complete', ({ params }) => completions(params.argument.value));
    if (context.era === 'legacy') {
      server.setRequestHandler('logging/setLevel', () => ({}));
      server.setRequestHandler('resources/subscribe', () => ({}));
      server.setRequestHandler('resources/unsubscribe', () => ({}));
    }
    return server;
  };
}

/** The SDK has no way to ask for a handler that was set; the product's own must go on behind the overlay. */
function handlersOf(server: Server): (method: string) => Handler {
  const { _requestHandlers: handlers } = server as unknown as { _requestHandlers: Map<string, Handler> };
  return (method) => {
    const handler = handlers.get(method);
    if (handler === undefined) throw new Error(`the product does not handle ${method}`);
    return handler;
  };
}
