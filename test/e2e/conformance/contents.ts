/** Resources, prompts and completions in the words that the conformance suite looks for. */
import {
  inputRequired,
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';

/** One red pixel. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
/** A WAV file without a sample. */
export const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

export const resources = [
  { uri: 'test://static-text', name: 'static text', description: 'A text', mimeType: 'text/plain' },
  { uri: 'test://static-binary', name: 'static binary', description: 'An image', mimeType: 'image/png' },
  { uri: 'test://watched-resource', name: 'watched', description: 'A text', mimeType: 'text/plain' },
] as const;

export const templates = [
  {
    uriTemplate: 'test://template/{id}/data',
    name: 'template',
    description: 'By id',
    mimeType: 'application/json',
  },
] as const;

export function readResource(uri: string) {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  const text =
    id === undefined ? TEXTS[uri] : JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  if (uri === 'test://static-binary') return { contents: [{ uri, mimeType: 'image/png', blob: PNG }] };
  if (text === undefined)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Resource not found', { uri });
  return { contents: [{ uri, mimeType: id === undefined ? 'text/plain' : 'application/json', text }] };
}

const TEXTS: Readonly<Record<string, string>> = {
  'test://static-text': 'This is the content of the static text resource.',
  'test://watched-resource': 'Watched.',
};

const CITIES = ['paris', 'park', 'party'];

export function completions(typed: string) {
  const values = CITIES.filter((city) => city.startsWith(typed));
  return { completion: { values, total: values.length, hasMore: false } };
}

const text = (words: string) => ({ role: 'user' as const, content: { type: 'text' as const, text: words } });
const required = (name: string) => ({ name, description: name, required: true });

type Arguments = Readonly<Record<string, string>>;

export const prompts = [
  {
    name: 'test_simple_prompt',
    description: 'Without arguments',
    arguments: [],
    get: () => ({ messages: [text('This is a simple prompt for testing.')] }),
  },
  {
    name: 'test_prompt_with_arguments',
    description: 'With two arguments',
    arguments: [required('arg1'), required('arg2')],
    get: ({ arg1, arg2 }: Arguments) => ({
      messages: [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
    }),
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'With a resource inside',
    arguments: [required('resourceUri')],
    get: ({ resourceUri: uri = '' }: Arguments) => ({
      messages: [
        {
          role: 'user' as const,
          content: {
            type: 'resource' as const,
            resource: { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
          },
        },
        text('Please process the embedded resource above.'),
      ],
    }),
  },
  {
    name: 'test_prompt_with_image',
    description: 'With an image inside',
    arguments: [],
    get: () => ({
      messages: [
        { role: 'user' as const, content: { type: 'image' as const, data: PNG, mimeType: 'image/png' } },
        text('Please analyze the image above.'),
      ],
    }),
  },
  {
    name: 'test_input_required_result_prompt',
    description: 'Asks before it answers',
    arguments: [],
    get(_: Arguments, { mcpReq }: ServerContext) {
      const view = inputResponse(mcpReq.inputResponses, 'user_context');
      if (view.kind === 'elicit')
        return { messages: [text(`In the context of ${String(view.content?.['context'])}`)] };
      const requestedSchema = {
        type: 'object' as const,
        properties: { context: { type: 'string' as const } },
        required: ['context'],
      };
      return inputRequired({
        inputRequests: {
          user_context: inputRequired.elicit({
            message: 'What context should the prompt use?',
            requestedSchema,
          }),
        },
      });
    },
  },
];
