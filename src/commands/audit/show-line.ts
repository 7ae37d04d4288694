/** A line of the audit log in one line that a person reads. Whatever a caller said in it cannot move the cursor. */
import { isId, renameId } from '../../base/ids.ts';
import { type AuditLine, escapeText } from '../../security/security.ts';
import { fitTo, type Paint, padTo, type Tone } from '../paint.ts';
import { showSpan, showTime } from '../when.ts';

const WORD_COLUMNS = 9;

export function showLine(line: AuditLine, paint: Paint, width = Infinity): string {
  const { tone, word, text } = describe(line.fields);
  const who = textOf(line.fields['principal']) || 'server';
  const before = `${showTime(line.time)} ${padTo(word, WORD_COLUMNS)} ${who}`;
  const rest = fitTo(escapeText(text), width - before.length - 1);
  return `${paint('quiet', showTime(line.time))} ${paint(tone, padTo(word, WORD_COLUMNS))} ${paint('quiet', who)} ${rest}`;
}

interface Described {
  readonly tone: Tone;
  readonly word: string;
  readonly text: string;
}

type Fields = Readonly<Record<string, unknown>>;

function describe(fields: Fields): Described {
  const { event, decision } = fields;
  switch (event) {
    case 'execution_ended':
      return describeEnd(fields);
    case 'execution_not_started':
      return { tone: 'bad', word: 'failed', text: `not started: ${textOf(fields['reason'])}` };
    case 'call':
      return describeCall(fields);
    case 'terminal_input':
      return { tone: 'plain', word: 'typed', text: describeTyped(fields) };
    case 'log_opened':
      return {
        tone: 'quiet',
        word: 'opened',
        text: `${textOf(fields['instance'])}, pid ${textOf(fields['pid'])}`,
      };
    case 'log_closed':
      return { tone: 'quiet', word: 'closed', text: '' };
    case 'entries_lost':
      return {
        tone: 'bad',
        word: 'lost',
        text: `${textOf(fields['count'])} entries: ${textOf(fields['reason'])}`,
      };
    default:
      return {
        tone:
          decision === 'allow' ? 'good' : decision === 'deny' ? 'bad' : decision === 'ask' ? 'warn' : 'plain',
        word: textOf(decision) || 'event',
        text: joined([
          event === 'execution_allowed' || event === 'execution_denied'
            ? ''
            : String(event).replaceAll('_', ' '),
          commandOf(fields),
          decision === 'allow' ? '' : joined([textOf(fields['code']), textOf(fields['reason'])]),
          textOf(
            fields['restrictionId'] ??
              fields['executionIds'] ??
              fields['terminalId'] ??
              fields['scope'] ??
              fields['from'],
          ),
          fields['others'] === undefined ? '' : `and ${textOf(fields['others'])} more like it`,
        ]),
      };
  }
}

/** A terminal runs a shell, which nobody typed: it is known by its name. */
function commandOf(fields: Fields): string {
  const command = textOf(fields['command']);
  const id = textOf(fields['executionId']);
  return command === '' && isId('exec', id) ? `terminal ${renameId(id, 'term')}` : command;
}

const STATUS_TONES: Readonly<Record<string, Tone>> = { completed: 'good', failed: 'bad', timeout: 'warn' };

function describeEnd(fields: Fields): Described {
  const status = textOf(fields['status']);
  const how =
    fields['signal'] === undefined ? `exit ${textOf(fields['exitCode'])}` : textOf(fields['signal']);
  const why = fields['reason'] === 'exit' || fields['reason'] === 'signal' ? '' : textOf(fields['reason']);
  const mark = textOf(fields['securityEvent']).replaceAll('_', ' ');
  const facts = [how, why, mark, showSpan(Number(fields['durationMs']))].filter((fact) => fact !== '');
  return {
    tone: STATUS_TONES[status] ?? 'plain',
    word: status,
    text: joined([facts.join(', '), commandOf(fields)]),
  };
}

function describeCall(fields: Fields): Described {
  const outcome =
    fields['outcome'] === 'answered' ? '' : joined([textOf(fields['outcome']), textOf(fields['code'])]);
  return {
    tone: 'quiet',
    word: 'call',
    text: joined([
      textOf(fields['tool']),
      // What there is not is known by what it was called.
      fields['tool'] === 'unknown' ? textOf(fields['calledAs']) : '',
      outcome,
      showSpan(Number(fields['durationMs'])),
      // Its command has lines of its own.
      fields['tool'] === 'shell_execute' ? '' : textOf(fields['input']),
    ]),
  };
}

function describeTyped(fields: Fields): string {
  const input = fields['input'] as { readonly text?: string; readonly isSecret?: boolean } | undefined;
  const typed = input?.isSecret === true ? '(at a password prompt)' : (input?.text ?? '');
  return joined([textOf(fields['terminalId']), typed]);
}

const joined = (parts: readonly string[]): string => parts.filter((part) => part !== '').join('  ');

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value);
}
