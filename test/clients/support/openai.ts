/** The Responses API, as Codex speaks it: the tools of a server are a namespace, which is part of every call. */
import type { Api, Conversation, Event, Json, Reply } from './model.ts';

interface Tool {
  readonly type: string;
  readonly name: string;
  readonly description?: string;
  readonly parameters?: Json;
  readonly tools?: readonly Tool[];
}

interface Item {
  readonly type: string;
  readonly output?: string | readonly { readonly text?: string }[];
}

interface Body {
  readonly tools?: readonly Tool[];
  readonly input?: readonly Item[];
}

const namespaceOf = (server: string): string => `mcp__${server}`;

export const openai: Api = {
  path: /^\/v1\/responses$/,

  read(body, server): Conversation {
    const { tools = [], input = [] } = body as Body;
    return {
      tools: tools
        .filter(({ type, name }) => type === 'namespace' && name === namespaceOf(server))
        .flatMap((namespace) => namespace.tools ?? [])
        .map(({ name, description = '', parameters: schema = {} }) => ({ name, description, schema })),
      results: input
        .filter(({ type }) => type === 'function_call_output')
        .map(({ output = '' }) =>
          typeof output === 'string' ? output : output.map((part) => part.text ?? '').join('\n'),
        ),
    };
  },

  reply(reply, server, number) {
    const id = `resp_${number}`;
    return [
      event('response.created', { response: { id } }),
      event('response.output_item.done', { output_index: 0, item: itemOf(reply, server, number) }),
      event('response.completed', {
        response: {
          id,
          usage: {
            input_tokens: 1,
            input_tokens_details: null,
            output_tokens: 1,
            output_tokens_details: null,
            total_tokens: 2,
          },
        },
      }),
    ];
  },
};

function itemOf(reply: Reply, server: string, number: number): Json {
  if ('say' in reply)
    return {
      type: 'message',
      id: `msg_${number}`,
      role: 'assistant',
      content: [{ type: 'output_text', text: reply.say }],
    };
  return {
    type: 'function_call',
    id: `fc_${number}`,
    call_id: `call_${number}`,
    namespace: namespaceOf(server),
    name: reply.call.tool,
    arguments: JSON.stringify(reply.call.args),
  };
}

const event = (type: string, data: Json): Event => ({ name: type, data: { type, ...data } });
