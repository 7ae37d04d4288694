/**
 * Earlier names of tools. Each stands for a current tool and can be called wherever that one can, listed or not. Most
 * have its parameters and fields; those of outputs called them files, and their names are translated here.
 */
import * as z from 'zod';
import { once } from '../base/once.ts';
import type { StreamType } from '../outputs/types.ts';
import { defineTool, mapAnswer, type Tool } from '../tools/tool.ts';
import {
  deleteExecutionOutputs,
  deleteOutputs,
  listExecutionOutputs,
  listInput,
  listOutputs,
  readExecutionOutput,
  readFields,
  readInput,
  readOutput,
} from '../tools/tools.ts';

/** Earlier name -> name of today. A row takes effect once its tool is in the catalogue. */
export const EARLIER_NAMES: Readonly<Record<string, string>> = {
  shell_get_execution: 'process_get_execution',
  process_kill: 'process_terminate',
  file_list: 'list_execution_outputs',
  file_read: 'read_execution_output',
  file_delete: 'delete_execution_outputs',
  terminal_get: 'terminal_get_info',
  terminal_input: 'terminal_send_input',
  terminal_output: 'terminal_get_output',
};

export function earlierNameOf(today: string): string | undefined {
  return Object.entries(EARLIER_NAMES).find(([, name]) => name === today)?.[0];
}

/** The tools under their earlier names, as far as their modern ones are there. */
export function earlierTools(tools: readonly Tool[]): Tool[] {
  return Object.entries(EARLIER_NAMES).flatMap(([name, today]) => {
    const tool = tools.find((each) => each.name === today);
    if (tool === undefined) return [];
    const { meta: _, ...rest } = tool;
    const input = once(() => INPUTS[name]?.(tool.input()) ?? tool.input());
    const description = `${tool.description} (Today: ${today}.)`;
    return [TRANSLATED[name] ?? { ...rest, name, input, description }];
  });
}

/** Where a parameter meant something else before. */
const INPUTS: Readonly<Record<string, (input: z.ZodObject) => z.ZodObject>> = {
  // The earlier tool reads from the oldest line on.
  terminal_output: (input) => input.extend({ start_line: z.number().int().min(0).default(0) }),
};

/** What each type of file holds; nothing temporary is kept. */
const TYPES: Readonly<Record<'output' | 'log' | 'temp' | 'all', readonly StreamType[] | undefined>> = {
  output: ['stdout', 'stderr', 'combined'],
  log: ['log'],
  temp: [],
  all: undefined,
};

/** Of a terminal: what it wrote, and the same with its times. */
const LOGS: ReadonlySet<string> = new Set(['log', 'cast']);

const fileList = defineTool({
  name: 'file_list',
  title: 'List output files',
  description: 'Stored command outputs, newest first. (Today: list_execution_outputs.)',
  input: () => {
    const { execution_id, name_pattern, limit } = listInput().shape;
    const file_type = z.enum(['output', 'log', 'temp', 'all']).default('all');
    return z.strictObject({ file_type, execution_id, name_pattern, limit });
  },
  output: () =>
    z.object({
      files: z.array(
        z.object({
          file_id: z.string(),
          execution_id: z.string(),
          file_type: z.enum(['output', 'log']),
          output_type: z.string(),
          name: z.string(),
          size: z.number(),
          is_running: z.boolean(),
          created_at: z.string(),
        }),
      ),
      total_count: z.number(),
    }),
  annotations: listExecutionOutputs.annotations,
  takesTurns: true,
  async run({ file_type: type, execution_id: executionId, name_pattern: namePattern, limit }, call) {
    const { data, text } = await listOutputs({ types: TYPES[type], executionId, namePattern, limit }, call);
    const files = data.outputs.map((output) => {
      const { output_id: file_id, execution_id, order: _, ...others } = output;
      const file_type = LOGS.has(output.output_type) ? ('log' as const) : ('output' as const);
      return { file_id, execution_id, file_type, ...others };
    });
    return { data: { files, total_count: data.total_count }, text };
  },
});

const fileRead = defineTool({
  name: 'file_read',
  title: 'Read an output file',
  description: 'Reads a part of a stored output by bytes. (Today: read_execution_output.)',
  input: () => {
    const { offset, size, encoding } = readInput().shape;
    return z.strictObject({ file_id: z.string(), offset, size, encoding });
  },
  output: () => {
    const { content, size, total_size, is_truncated, encoding, next_offset } = readFields().shape;
    return z.object({ file_id: z.string(), content, size, total_size, is_truncated, encoding, next_offset });
  },
  annotations: readExecutionOutput.annotations,
  takesTurns: true,
  async run({ file_id, ...rest }, call) {
    return mapAnswer(await readOutput({ output_id: file_id, ...rest }, call), ({ data, text }) => {
      const { content, size, total_size, is_truncated, encoding, next_offset } = data;
      return { data: { file_id, content, size, total_size, is_truncated, encoding, next_offset }, text };
    });
  },
});

const fileDelete = defineTool({
  name: 'file_delete',
  title: 'Delete output files',
  description: 'Deletes stored outputs for good. confirm must be true. (Today: delete_execution_outputs.)',
  input: () => z.strictObject({ file_ids: z.array(z.string()).min(1).max(1000), confirm: z.boolean() }),
  output: () =>
    z.object({
      deleted_files: z.array(z.string()),
      failed_files: z.array(z.string()),
      total_deleted: z.number(),
      audit_problem: z.string(),
    }),
  tellsUnrecorded: true,
  annotations: deleteExecutionOutputs.annotations,
  async run({ file_ids, confirm }, call) {
    const { data, text } = await deleteOutputs(file_ids, confirm, call);
    const { deleted_outputs: deleted_files, failed_outputs, total_deleted } = data;
    const failed_files = failed_outputs.map(({ output_id }) => output_id);
    return { data: { deleted_files, failed_files, total_deleted }, text };
  },
});

const TRANSLATED: Readonly<Record<string, Tool>> = {
  file_list: fileList,
  file_read: fileRead,
  file_delete: fileDelete,
};
