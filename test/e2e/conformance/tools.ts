/** Tools in the words that the conformance suite looks for: contents of all kinds, and ways to ask the client back. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { PNG, WAV } from './contents.ts';

interface Called {
  readonly args: Readonly<Record<string, string>>;
  readonly context: ServerContext;
  readonly server: Server;
}

interface FixtureTool {
  readonly name: string;
  readonly description?: string;
  readonly properties?: Record<string, { type: 'string' }>;
  // Results of several kinds, of which the SDK has no common type.
  // oxlint-disable-next-line typescript/no-explicit-any
  run(called: Called): Promise<any>;
}

const text = (words: string) => ({ content: [{ type: 'text', text: words }] });
const image = { type: 'image', data: PNG, mimeType: 'image/png' };
const resource = (uri: string, mimeType: string, words: string) => ({
  type: 'resource',
  resource: { uri, mimeType, text: words },
});
const answering = (name: string, ...content: object[]): FixtureTool => ({
  name,
  run: async () => ({ content }),
});

const objectOf = (properties: object, required: readonly string[] = []) => ({
  type: 'object' as const,
  properties,
  required: [...required],
});
const elicitation = (message: string, properties: object, required?: readonly string[]) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: objectOf(properties, required) },
});
const sampling = (prompt: string, maxTokens = 100) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens },
});
const roots = { method: 'roots/list', params: {} };

/** Before 2026-07-28 the server asks within the call. */
async function askNow({ context }: Called, request: object): Promise<Record<string, unknown>> {
  return context.mcpReq.send(request as never);
}

/** Since then it answers with the question, and is called again. */
function ask(inputRequests: object, requestState?: string): unknown {
  return inputRequired({
    inputRequests: inputRequests as never,
    ...(requestState !== undefined && { requestState }),
  });
}

const replies = ({ context }: Called): Readonly<Record<string, Record<string, unknown>>> =>
  (context.mcpReq.inputResponses ?? {}) as never;

const codec = createRequestStateCodec<{ step: number }>({ key: randomBytes(32), ttlSeconds: 600 });

/** What came back, or a protocol error where somebody has changed it. */
async function stateOf({ context }: Called): Promise<{ step: number } | undefined> {
  const sealed = context.mcpReq.requestState<string>();
  if (sealed === undefined) return undefined;
  try {
    return await codec.verify(sealed, context);
  } catch {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The request state is not what was handed out');
  }
}

const NAME = elicitation('What is your name?', { name: { type: 'string' } }, ['name']);
const CONFIRM = elicitation('Please confirm', { ok: { type: 'boolean' } }, ['ok']);

const describeReply = (reply: Record<string, unknown>): string =>
  `action=${String(reply['action'])}, content=${JSON.stringify(reply['content'] ?? {})}`;

function capabilitiesOf({ context }: Called): Readonly<Record<string, unknown>> {
  const envelope: Readonly<Record<string, unknown>> = context.mcpReq.envelope ?? {};
  return (envelope[CLIENT_CAPABILITIES_META_KEY] ?? {}) as Record<string, unknown>;
}

const CONTENTS: readonly FixtureTool[] = [
  answering('test_simple_text', { type: 'text', text: 'This is a simple text response for testing.' }),
  answering('test_image_content', image),
  answering('test_audio_content', { type: 'audio', data: WAV, mimeType: 'audio/wav' }),
  answering(
    'test_embedded_resource',
    resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  ),
  answering(
    'test_multiple_content_types',
    { type: 'text', text: 'Multiple content types test:' },
    image,
    resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
  ),
  {
    name: 'test_error_handling',
    run: async () => ({ ...text('This tool intentionally returns an error for testing'), isError: true }),
  },
];

const NOTIFYING: readonly FixtureTool[] = [
  {
    name: 'test_tool_with_logging',
    async run({ server }) {
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await server.sendLoggingMessage({ level: 'info', data });
        await sleep(50);
      }
      return text('It has logged.');
    },
  },
  {
    name: 'test_logging_tool',
    async run({ context }) {
      await context.mcpReq.log('info', 'only where it was asked for');
      return text('It has logged where that was asked for.');
    },
  },
  {
    name: 'test_tool_with_progress',
    async run({ context: { mcpReq } }) {
      const { _meta: meta } = mcpReq;
      const progressToken = meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined)
          await mcpReq.notify({
            method: 'notifications/progress',
            params: { progressToken, progress, total: 100 },
          });
        await sleep(50);
      }
      return text('It has made progress.');
    },
  },
];

const ASKING_NOW: readonly FixtureTool[] = [
  {
    name: 'test_sampling',
    properties: { prompt: { type: 'string' } },
    async run(called) {
      const { content } = await askNow(called, sampling(called.args['prompt'] ?? ''));
      return text(`LLM response: ${String((content as { text?: string }).text)}`);
    },
  },
  {
    name: 'test_elicitation',
    properties: { message: { type: 'string' } },
    async run(called) {
      const properties = {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      };
      const question = elicitation(called.args['message'] ?? '', properties, ['username', 'email']);
      return text(`User response: ${describeReply(await askNow(called, question))}`);
    },
  },
  {
    name: 'test_elicitation_sep1034_defaults',
    async run(called) {
      const question = elicitation('Who are you?', {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      });
      return text(`Elicitation completed: ${describeReply(await askNow(called, question))}`);
    },
  },
  {
    name: 'test_elicitation_sep1330_enums',
    async run(called) {
      const plain = ['option1', 'option2', 'option3'];
      const titled = ['First', 'Second', 'Third'].map((word, at) => ({
        const: `value${at + 1}`,
        title: `${word} Option`,
      }));
      const question = elicitation('Choose', {
        untitledSingle: { type: 'string', enum: plain },
        titledSingle: { type: 'string', oneOf: titled },
        legacyEnum: {
          type: 'string',
          enum: ['opt1', 'opt2', 'opt3'],
          enumNames: ['Option One', 'Option Two', 'Option Three'],
        },
        untitledMulti: { type: 'array', items: { type: 'string', enum: plain } },
        titledMulti: { type: 'array', items: { anyOf: titled } },
      });
      return text(`Elicitation completed: ${describeReply(await askNow(called, question))}`);
    },
  },
];

const ASKING_BACK: readonly FixtureTool[] = [
  {
    name: 'test_input_required_result_elicitation',
    async run(called) {
      const reply = replies(called)['user_name'];
      if (reply === undefined) return ask({ user_name: NAME });
      return text(`Hello, ${String((reply['content'] as { name?: string } | undefined)?.name)}!`);
    },
  },
  {
    name: 'test_input_required_result_sampling',
    async run(called) {
      const reply = replies(called)['capital_question'];
      if (reply === undefined) return ask({ capital_question: sampling('What is the capital of France?') });
      return text(`The model said: ${JSON.stringify(reply['content'])}`);
    },
  },
  {
    name: 'test_input_required_result_list_roots',
    async run(called) {
      const reply = replies(called)['client_roots'];
      return reply === undefined
        ? ask({ client_roots: roots })
        : text(`The roots are ${JSON.stringify(reply['roots'])}`);
    },
  },
  {
    name: 'test_input_required_result_request_state',
    async run(called) {
      const state = await stateOf(called);
      if (state === undefined || replies(called)['confirm'] === undefined)
        return ask({ confirm: CONFIRM }, await codec.mint({ step: 1 }));
      return text('state-ok');
    },
  },
  {
    name: 'test_input_required_result_multiple_inputs',
    async run(called) {
      const given = replies(called);
      const questions = {
        user_name: NAME,
        greeting: sampling('Generate a greeting', 50),
        client_roots: roots,
      };
      const isComplete = Object.keys(questions).every((key) => given[key] !== undefined);
      return (await stateOf(called)) !== undefined && isComplete
        ? text('All three were answered.')
        : ask(questions, await codec.mint({ step: 1 }));
    },
  },
  {
    name: 'test_input_required_result_multi_round',
    async run(called) {
      const { step = 0 } = (await stateOf(called)) ?? {};
      const given = replies(called);
      if (step === 2 && given['step2'] !== undefined) return text('Both steps were answered.');
      if (step === 1 && given['step1'] !== undefined) {
        const color = elicitation('Step 2: What is your favorite color?', { color: { type: 'string' } }, [
          'color',
        ]);
        return ask({ step2: color }, await codec.mint({ step: 2 }));
      }
      const name = elicitation('Step 1: What is your name?', { name: { type: 'string' } }, ['name']);
      return ask({ step1: name }, await codec.mint({ step: 1 }));
    },
  },
  {
    name: 'test_input_required_result_tampered_state',
    run: async (called) =>
      (await stateOf(called)) === undefined
        ? ask({ confirm: CONFIRM }, await codec.mint({ step: 1 }))
        : text('state-ok'),
  },
  {
    name: 'test_input_required_result_capabilities',
    async run(called) {
      const can = capabilitiesOf(called);
      if (Object.keys(replies(called)).length > 0) return text('It was answered.');
      return ask({
        ...('elicitation' in can && { user_name: NAME }),
        ...('sampling' in can && { greeting: sampling('Generate a greeting', 50) }),
        ...('roots' in can && { client_roots: roots }),
      });
    },
  },
  {
    name: 'test_streaming_elicitation',
    run: async (called) =>
      replies(called)['user_name'] === undefined ? ask({ user_name: NAME }) : text('It was answered.'),
  },
  {
    name: 'test_missing_capability',
    async run(called) {
      if ('sampling' in capabilitiesOf(called)) return text('The client can do it.');
      throw new ProtocolError(-32_021, 'The client must be able to sample', {
        requiredCapabilities: { sampling: {} },
      });
    },
  },
];

export const fixtureTools: readonly FixtureTool[] = [
  ...CONTENTS,
  ...NOTIFYING,
  ...ASKING_NOW,
  ...ASKING_BACK,
];
