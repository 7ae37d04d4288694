/** The bytes that a model must read of the tools before it has done anything. */
import type { ToolDefinition } from '../../src/server/definitions.ts';

export function measureDefinitions(definitions: readonly ToolDefinition[]) {
  const bytesByTool = new Map<string, number>();
  let totalBytes = 0;
  for (const { name, description, inputSchema } of definitions) {
    const bytes = Buffer.byteLength(JSON.stringify({ name, description, inputSchema }));
    bytesByTool.set(name, bytes);
    totalBytes += bytes;
  }
  return { totalBytes, averageBytes: totalBytes / Math.max(1, definitions.length), bytesByTool };
}
