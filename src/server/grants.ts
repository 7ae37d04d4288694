/**
 * What a token leaves of the toolset. It can only leave out: a tool that the server does not have is not made
 * available by naming it.
 */
import { ShellServerError } from '../base/errors.ts';
import type { Tool } from '../tools/tool.ts';

export interface Grant {
  /** Undefined: whatever the server has. */
  readonly names: ReadonlySet<string> | undefined;
  /** Only tools that change nothing. */
  readonly isReadOnly: boolean;
  /** The token's name; the operator's own has none. */
  readonly token: string;
}

export const EVERYTHING: Grant = { names: undefined, isReadOnly: false, token: '' };

type Named = Pick<Tool, 'name' | 'annotations'>;

export function allows({ names, isReadOnly }: Grant, { name, annotations }: Named): boolean {
  return (names?.has(name) ?? true) && (annotations.readOnlyHint || !isReadOnly);
}

/** Throws AUTH_003. */
export function checkGrant(grant: Grant, tool: Named): void {
  if (allows(grant, tool)) return;
  const why = grant.names?.has(tool.name) === false ? 'it is for other tools' : 'it is for reading alone';
  throw new ShellServerError('AUTH_003', `The token does not grant access to ${tool.name}: ${why}.`, {
    hint: 'tools/list shows the tools it grants. Only the operator can create another, with `mcp-shell-server token create`.',
    details: { tool: tool.name },
  });
}
