/** The Messages API, as Claude Code speaks it. */
import type { Api, Conversation, Event, Json, Reply } from './model.ts';

interface Block {
  readonly type: string;
  readonly content?: string | readonly { readonly type: string; readonly text?: string }[];
}

interface Body {
  readonly tools?: readonly { name: string; description?: string; input_schema?: Json }[];
  readonly messages?: readonly { readonly content: string | readonly Block[] }[];
}

const prefixOf = (server: string): string => `mcp__${server}__`;

export const anthropic: Api = {
  path: /^\/v1\/messages$/,

  read(body, server): Conversation | undefined {
    const { tools = [], messages = [] } = body as Body;
    const prefix = prefixOf(server);
    if (tools.length === 0) return undefined;
    return {
      tools: tools
        .filter(({ name }) => name.startsWith(prefix))
        .map(({ name, description = '', input_schema: schema = {} }) => ({
          name: name.slice(prefix.length),
          description,
          schema,
        })),
      results: messages
        .flatMap(({ content }) => (typeof content === 'string' ? [] : content))
        .filter(({ type }) => type === 'tool_result')
        .map(({ content = '' }) =>
          typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('\n'),
        ),
    };
  },

  reply: (reply, server, number) => [
    event('message_start', {
      message: {
        id: `msg_${number}`,
        type: 'message',
        role: 'assistant',
        model: 'scripted',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    }),
    ...block(reply, server, number),
    event('content_block_stop', { index: 0 }),
    event('message_delta', {
      delta: { stop_reason: 'call' in reply ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage: { output_tokens: 1 },
    }),
    event('message_stop', {}),
  ],
};

function block(reply: Reply, server: string, number: number): Event[] {
  const [start, delta] =
    'call' in reply
      ? [
          {
            type: 'tool_use',
            id: `toolu_${number}`,
            name: `${prefixOf(server)}${reply.call.tool}`,
            input: {},
          },
          { type: 'input_json_delta', partial_json: JSON.stringify(reply.call.args) },
        ]
      : [
          { type: 'text', text: '' },
          { type: 'text_delta', text: reply.say },
        ];
  return [
    event('content_block_start', { index: 0, content_block: start }),
    event('content_block_delta', { index: 0, delta }),
  ];
}

const event = (type: string, data: Json): Event => ({ name: type, data: { type, ...data } });
