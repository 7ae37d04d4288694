/** The Gemini API, as Gemini CLI speaks it. */
import type { Api, Conversation, Json } from './model.ts';

interface Declaration {
  readonly name: string;
  readonly description?: string;
  readonly parametersJsonSchema?: Json;
  readonly parameters?: Json;
}

interface Part {
  readonly functionResponse?: {
    readonly name: string;
    readonly response?: { readonly output?: string; readonly error?: string };
  };
}

interface Body {
  readonly tools?: readonly { readonly functionDeclarations?: readonly Declaration[] }[];
  readonly contents?: readonly { readonly parts?: readonly Part[] }[];
}

const prefixOf = (server: string): string => `mcp_${server}_`;

export const gemini: Api = {
  path: /:streamGenerateContent$/,

  read(body, server): Conversation | undefined {
    const { tools = [], contents = [] } = body as Body;
    const declared = tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations);
    const prefix = prefixOf(server);
    if (declared.length === 0) return undefined;
    return {
      tools: declared
        .filter(({ name }) => name.startsWith(prefix))
        .map(({ name, description = '', parametersJsonSchema, parameters }) => ({
          name: name.slice(prefix.length),
          description,
          schema: parametersJsonSchema ?? parameters ?? {},
        })),
      results: contents
        .flatMap(({ parts = [] }) => parts)
        .flatMap(({ functionResponse }) => (functionResponse === undefined ? [] : [functionResponse]))
        .map(({ response }) => response?.output ?? response?.error ?? ''),
    };
  },

  reply: (reply, server) => [
    {
      data: {
        candidates: [
          {
            index: 0,
            finishReason: 'STOP',
            content: {
              role: 'model',
              parts: [
                'say' in reply
                  ? { text: reply.say }
                  : {
                      functionCall: { name: `${prefixOf(server)}${reply.call.tool}`, args: reply.call.args },
                    },
              ],
            },
          },
        ],
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      },
    },
  ],
};
