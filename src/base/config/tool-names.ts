/**
 * The names in `tools`, checked where the caller knows which tools there are.
 */
import { nearest } from '../nearest.ts';
import { type Layer, mistake } from './layers.ts';
import type { Toolsets } from './strictness.ts';

/** A sentence for each name that is neither a toolset nor a tool. */
export function unknownTools(layers: readonly Layer[], toolsets: Toolsets): string[] {
  const known = new Set(['all', ...Object.keys(toolsets), ...Object.values(toolsets).flat()]);
  return layers.flatMap((layer) => {
    const entry = layer.entries.tools;
    if (entry === undefined) return [];
    return entry.value
      .filter((name) => !known.has(name))
      .map((name) => {
        const suggestion = nearest(name, known);
        const sets = Object.keys(toolsets).filter((set) => toolsets[set]?.[0] !== set);
        const hint =
          suggestion === undefined ? `; the toolsets: ${sets.join(', ')}` : `; did you mean ${suggestion}?`;
        return mistake('tools', `no tool or toolset is called ${JSON.stringify(name)}${hint}`, entry.where);
      });
  });
}
