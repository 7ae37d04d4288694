/** shell_set_default_workdir: where commands run that name no directory. Makes nothing reachable that was not. */
import * as z from 'zod';
import { defineTool } from './tool.ts';

export const shellSetDefaultWorkdir = defineTool({
  name: 'shell_set_default_workdir',
  title: 'Set the default working directory',
  description: 'Sets the directory for later commands that name none.',
  input: () =>
    z.strictObject({
      working_directory: z.string().min(1),
      apply_to_existing_sessions: z.boolean().default(false),
    }),
  output: () =>
    z.object({
      working_directory: z.string(),
      default_working_directory: z.string(),
      previous_working_directory: z.string(),
      working_directory_changed: z.boolean(),
      moved_sessions: z.array(z.string()),
    }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  async run(input, call) {
    const { executions, security } = call.modules;
    const previous = executions.sessions.defaultDirectory(call.principal);
    const directory = security.directories.check(input.working_directory, previous, {
      principal: call.principal,
    });
    const { principal, requestId, client } = call;
    security.audit.write({
      event: 'default_directory_set',
      principal,
      requestId,
      client: client.name,
      directory,
    });
    const applies = input.apply_to_existing_sessions;
    const moved = executions.sessions.setDefaultDirectory(call.principal, directory, applies);
    const changed = directory !== previous;
    return {
      data: {
        working_directory: directory,
        default_working_directory: directory,
        previous_working_directory: previous,
        working_directory_changed: changed,
        ...(applies && { moved_sessions: [...moved] }),
      },
      text: [
        changed
          ? `The default working directory is now ${directory} (it was ${previous}).`
          : `The default working directory is ${directory} already.`,
        ...(applies ? [describeMoved(moved)] : []),
      ].join(' '),
    };
  },
});

const SHOWN_SESSIONS = 20;

function describeMoved(moved: readonly string[]): string {
  const others = 'Sessions without a directory of their own begin there anyway.';
  if (moved.length === 0) return `No session had to be moved. ${others}`;
  const names = moved.slice(0, SHOWN_SESSIONS).map((name) => JSON.stringify(name));
  const more = moved.length > names.length ? ` and ${moved.length - names.length} more` : '';
  return `Sessions that now go on there: ${names.join(', ')}${more}. ${others}`;
}
