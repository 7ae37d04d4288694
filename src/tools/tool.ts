/**
 * What a tool is: schemas, words for a model, and a function from parsed input to an answer. A tool knows neither
 * MCP nor HTTP; server/dispatch.ts parses for it and encodes what it returns.
 */
import type * as z from 'zod';
import { once } from '../base/once.ts';
import type { Modules } from './modules.ts';

export interface ClientInfo {
  /** As the client calls itself ("claude-ai", "codex-mcp-client"); empty where it did not say. */
  readonly name: string;
  readonly version: string;
}

/** One call, as a tool sees it. */
export interface Call {
  /** Who is calling; "local" on stdio. */
  readonly principal: string;
  /** Which of the principal's tokens: each has monitors of its own, and its own place in what it has read. */
  readonly reader: string;
  /** That token only reads: nothing may happen because of its call. */
  readonly isReadOnly?: boolean;
  /** The connection or HTTP session, where there is one. */
  readonly session?: string | undefined;
  readonly client: ClientInfo;
  readonly requestId: string;
  /** Aborts when the client cancels the request or is gone. */
  readonly signal: AbortSignal;
  /** Present where the client asked for progress. Rate-limited and counted by the edge. */
  readonly progress: ((message: string) => void) | undefined;
  /** What a person has agreed to, where the edge has asked one (security's ApprovalNeeded). */
  readonly approval?: string | undefined;
  readonly modules: Modules;
}

export interface Answer<Data> {
  /** Becomes structuredContent; must satisfy the tool's output schema, and be complete on its own. */
  readonly data: Data;
  /** Becomes the text content; must be complete on its own too: some clients show a model only this. */
  readonly text: string;
  /** Further text blocks, for clients that distinguish them. */
  readonly more?: readonly string[];
  /** Becomes the result's `_meta`. */
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
  /**
   * The same answer with about this share of the output that it holds, for a client that could not take all of it; it
   * says what is left out as ever. Undefined where there is no less.
   */
  readonly shorter?: ((share: number) => Promise<Answer<Data> | undefined>) | undefined;
}

/** An answer made from another one, also where that is shortened. */
export function mapAnswer<From, To>(
  answer: Answer<From>,
  map: (answer: Answer<From>) => Answer<To>,
): Answer<To> {
  const { shorter } = answer;
  return {
    ...map(answer),
    shorter:
      shorter &&
      (async (share) => {
        const less = await shorter(share);
        return less && mapAnswer(less, map);
      }),
  };
}

export interface Annotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

export interface Tool<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Made when it is first asked for, since a schema takes more time and memory to make than the tool that has it. */
  input(): Input;
  /** One object, of which everything can be absent; the edge adds `error`. */
  output(): Output;
  readonly annotations: Annotations;
  /** The parameters that the record of a call tells, where not all of them: the others are recorded elsewhere, or never. */
  readonly recorded?: readonly string[];
  /** It only reads, waits for nothing, and its answer may be large: a caller is answered a few of them at a time. */
  readonly takesTurns?: boolean;
  /** Its answers are as another interface defines them, and have nothing besides. */
  readonly isExact?: boolean;
  /** It cannot be refused when it cannot be recorded, since it makes room: then its answer says so (`audit_problem`). */
  readonly tellsUnrecorded?: boolean;
  /** MCP `_meta` of the definition, such as "anthropic/alwaysLoad". */
  readonly meta?: Readonly<Record<string, unknown>>;
  run(input: z.output<Input>, call: Call): Promise<Answer<DataOf<() => Output>>>;
}

/** What an answer holds of an output schema. */
export type DataOf<Schema extends () => z.ZodObject> = {
  readonly [Name in keyof z.input<ReturnType<Schema>>]?: z.input<ReturnType<Schema>>[Name] | undefined;
};

/**
 * Keeps the types of a tool's own schemas while it is written, and forgets them in the catalogue. Nothing of an output
 * is required, since an error result is checked against the same schema; what is undefined is left out of an answer.
 */
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  tool: Tool<Input, Output>,
): Tool {
  return {
    ...tool,
    input: once(tool.input),
    output: once(() => tool.output().partial()),
    async run(input, call) {
      return mapAnswer(await tool.run(input as z.output<Input>, call), (answer) => ({
        ...answer,
        data: Object.fromEntries(Object.entries(answer.data).filter(([, value]) => value !== undefined)),
      }));
    },
  };
}
