/** A dispatch that holds tools to their output schemas: a bug of ours must not hide in a friendly answer. */
import { createDispatch, type Dispatch, type DispatchOptions } from '../../src/server/dispatch.ts';
import type { Answer, Tool } from '../../src/tools/tool.ts';

export function createValidatingDispatch(options: DispatchOptions): Dispatch {
  const problems: string[] = [];
  const watch = (tool: Tool): Tool => ({
    ...tool,
    async run(input, call) {
      const answer = await tool.run(input, call);
      problems.push(...problemsOf(tool, answer));
      return answer;
    },
  });
  const dispatch = createDispatch({ ...options, tools: options.tools.map(watch) });
  return {
    ...dispatch,
    async call(name, args, context) {
      const result = await dispatch.call(name, args, context);
      if (problems.length === 0) return result;
      throw new Error(`${name} answered outside its output schema: ${problems.splice(0).join('; ')}`);
    },
  };
}

function problemsOf(tool: Tool, { data }: Answer<unknown>): string[] {
  const output = tool.output();
  const schema = output.def.catchall === undefined ? output.strict() : output;
  const issues = schema.safeParse(data).error?.issues ?? [];
  return issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
}
