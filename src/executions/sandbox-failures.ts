/** Why a sandbox could not be used for a command. In all of these cases nothing of the command has run. */
import { type ErrorCode, type ErrorOptionsOfOurs, ShellServerError } from '../base/errors.ts';
import { FREE_SPACE } from '../base/files.ts';

/**
 * The sandbox could not be set up, and nothing was run: something that was to be mounted is gone, say, or another command
 * changed it meanwhile. It may be built anew. Told by its details, which our other processes pass on.
 */
export const isSandboxFailure = (error: unknown): boolean =>
  error instanceof ShellServerError && error.details?.['sandbox'] === NOT_SET_UP;

export const NOT_SET_UP = 'not set up';

export const sandboxFailed = (reason: string): ShellServerError =>
  nothingRun(
    `the sandbox could not be set up (${reason === '' ? 'bwrap ended early' : reason})`,
    {
      hint: isFull(reason) ? FREE_SPACE : 'Call again. If this persists, run `mcp-shell-server doctor`.',
      details: { sandbox: NOT_SET_UP },
    },
    isFull(reason) ? 'EXECUTION_004' : 'EXECUTION_001',
  );

/** Places for mounts are made in directories of the state directory, such as a private /tmp. */
const isFull = (reason: string): boolean => /No space left on device|Disk quota exceeded/.test(reason);

export const late = (): ShellServerError =>
  nothingRun('the sandbox was not set up in time', {
    hint: 'Something that it shows may not answer, a file server for example; run `mcp-shell-server doctor`.',
  });

export const replacedMeanwhile = (): ShellServerError =>
  sandboxFailed('something that it shows was replaced meanwhile');

export const swapped = (path: string): ShellServerError =>
  nothingRun(
    `${path} was changed by another command while the sandbox was set up`,
    {
      hint: 'Call again; if it happens every time, end what is running in the workspace.',
      details: { path, sandbox: NOT_SET_UP },
    },
    'SECURITY_003',
  );

function nothingRun(
  why: string,
  options: ErrorOptionsOfOurs,
  code: ErrorCode = 'EXECUTION_001',
): ShellServerError {
  return new ShellServerError(code, `Nothing was run: ${why}.`, options);
}
