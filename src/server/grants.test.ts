import { expect, it } from 'vitest';
import { grantedNames, pickTools } from '../all-tools.ts';
import { TOOLS } from '../tools/tools.ts';
import { allows, checkGrant, EVERYTHING, type Grant } from './grants.ts';

const READING = [
  'process_get_execution',
  'process_list',
  'process_monitor',
  'list_execution_outputs',
  'read_execution_output',
  'terminal_list',
  'terminal_get_info',
  'terminal_get_output',
  'monitoring_get_stats',
];
const createGrant = (tools: readonly string[] | undefined, isReadOnly: boolean): Grant => ({
  names: tools && grantedNames(tools),
  isReadOnly,
  token: '',
});
const open = (grant: Parameters<typeof allows>[0]): string[] =>
  TOOLS.filter((tool) => allows(grant, tool)).map(({ name }) => name);

it('leaves everything where nothing is said', () => {
  expect(open(EVERYTHING)).toEqual(TOOLS.map(({ name }) => name));
  expect(open(createGrant(undefined, false))).toEqual(open(EVERYTHING));
});

it('leaves what changes nothing for reading', () => {
  expect(open(createGrant(undefined, true)).sort()).toEqual(READING.sort());
});

it('leaves toolsets and single tools, with their earlier names and the methods beside them', () => {
  const named = (name: string) => ({ name, annotations: { readOnlyHint: false } as never });
  const grant = createGrant(['shell_execute', 'read_execution_output'], false);
  expect(open(grant)).toEqual(['shell_execute', 'read_execution_output']);
  expect(allows(grant, named('file_read'))).toBe(true);
  expect(allows(grant, named('shell/exec'))).toBe(true);
  expect(allows(grant, named('file_list'))).toBe(false);
  expect(allows(createGrant(['read_execution_output'], false), named('shell/exec'))).toBe(false);
  expect(open(createGrant(['simple'], false))).toEqual([]);
});

it('narrows by both', () => {
  expect(open(createGrant(['shell_execute', 'process_list'], true))).toEqual(['process_list']);
});

it('leaves nothing for a name that no tool has', () => {
  for (const name of ['', 'constructor', '__proto__', 'shell_executee']) {
    expect(pickTools([name])).toEqual([]);
    expect(open(createGrant([name], false))).toEqual([]);
  }
});

it('says why', () => {
  const [first] = TOOLS;
  if (first === undefined) throw new Error('no tools');
  expect(() => checkGrant(createGrant(['process_list'], false), first)).toThrow(
    'The token does not grant access to shell_execute: it is for other tools.',
  );
  expect(() => checkGrant(createGrant(undefined, true), first)).toThrow(
    expect.objectContaining({ code: 'AUTH_003', message: expect.stringContaining('for reading alone') }),
  );
});
