/** `audit verify`: whether the log is what was written, and where not. */
import { systemClock } from '../../base/clock.ts';
import { ShellServerError } from '../../base/errors.ts';
import { createObserver } from '../../executions/executions.ts';
import { type Verification, verifyAudit } from '../../security/security.ts';
import type { CommandContext } from '../context.ts';
import { print } from '../json.ts';
import { createPaint, type Paint } from '../paint.ts';
import { many, showTime } from '../when.ts';
import { auditDirectory } from './directory.ts';

export interface VerifyOptions {
  readonly anchor?: readonly string[];
  readonly json?: boolean;
}

/** Ends with 1 where something was changed, removed or inserted. */
export async function verifyCommand(context: CommandContext, options: VerifyOptions): Promise<void> {
  const anchors = (options.anchor ?? []).map(checkAnchor);
  // Listed first: a record is written after its line.
  const executions = await listExecutions(context.settings().stateDir);
  const verification = verifyAudit({ directory: auditDirectory(context), anchors, executions });
  print(context, options, verification, () => renderVerification(verification, createPaint(context)));
  context.setExitCode(verification.problems.length === 0 ? 0 : 1);
}

/** Of servers, in the text; --json has all. */
const SHOWN = 10;

function renderVerification(found: Verification, paint: Paint): string {
  const { lines, files, heads, torn, lost, problems } = found;
  const servers = heads.filter(({ isServer }) => isServer).length;
  const commands = heads.length - servers;
  const who = `${many(servers, 'server')}${commands === 0 ? '' : ` and ${many(commands, 'command')} of the operator`}`;
  const counted = `${many(lines, 'line')} in ${many(files, 'file')} of ${who}`;
  const newest = heads.toSorted((a, b) => (a.lastTime < b.lastTime ? 1 : -1));
  const open = heads.filter(({ isClosed }) => !isClosed).length;
  const entries = lost === 1 ? '1 entry' : `${lost} entries`;
  const text = [
    ...problems.map(({ kind, text: what }) => `${paint('bad', kind.toUpperCase())} ${what}`),
    problems.length === 0
      ? `${paint('good', 'The audit log is whole')}: ${counted}.`
      : `${paint('bad', 'The audit log is not what was written')}: ${counted} are as they should be.`,
    ...(lost === 0 ? [] : [`${paint('warn', entries)} could not be written, as the log itself says.`]),
    ...(torn.length > 0 ? [`Half a line ends ${torn.join(', ')}: a server was killed while it wrote.`] : []),
    ...(open > 0 ? [`${many(open, 'log')} without an end: the server is running or was killed.`] : []),
    ...newest
      .slice(0, SHOWN)
      .map(
        ({ instance, lines: own, lastTime, isClosed, isServer }) =>
          `  ${paint('quiet', showTime(lastTime))} ${instance} ${many(own, 'line')}${isServer ? '' : ', operator'}${isClosed ? '' : ', open'}`,
      ),
    ...(heads.length > SHOWN ? [`  … ${heads.length - SHOWN} more`] : []),
    ...(newest[0] === undefined
      ? []
      : ['The last hash, to be noted elsewhere and given with --anchor:', newest[0].hash]),
  ];
  return `${text.join('\n')}\n`;
}

function checkAnchor(text: string): string {
  if (/^[0-9a-f]{64}$/.test(text)) return text;
  const given = JSON.stringify(text.slice(0, 80));
  throw new ShellServerError('PARAM_002', `--anchor is not the hash of a line: ${given}.`, {
    hint: 'It has 64 hexadecimal digits, as audit verify prints them.',
  });
}

async function listExecutions(stateDir: string): Promise<string[]> {
  const observer = createObserver({ stateDir, clock: systemClock });
  await observer.look();
  return observer.store.summaries().map(({ id }) => id);
}
