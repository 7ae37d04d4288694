import { findAliases, pickMethods, pickTools } from '../tools/tools.ts';
import { EVERYTHING, type Grant } from './grants.ts';

/** `tools` are toolsets and single tools; with each come its earlier names and the methods that stand beside it. */
export function createGrant(tools: readonly string[] | undefined, isReadOnly: boolean, token = ''): Grant {
  if (tools === undefined) return { ...EVERYTHING, isReadOnly, token };
  const picked = pickTools(tools);
  const names = [...picked, ...pickMethods(picked)].map(({ name }) => name);
  return { names: new Set([...names, ...findAliases(picked).keys()]), isReadOnly, token };
}
