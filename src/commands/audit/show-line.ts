/** A line of the audit log in one line that a person reads. Whatever a caller said in it cannot move the cursor. */
import { isId, renameId } from '../../base/ids.ts';
import { type AuditLine, escapeText } from '../../security/security.ts';
import { fitTo, type Paint, padTo, type Tone } from '../paint.ts';
import { showSpan, showTime } from '../when.ts';

const WORD_COLUMNS = 9;

export function showLine(line: AuditLine, paint: Paint, width = Infinity): string {
  const say: Say = (name) => textOf(line.fields[name]);
  const { tone, word, text } = describe(line.fields, say);
  const who = say('principal') || 'server';
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
/** A field of the line as text; empty where there is none. */
type Say = (name: string) => string;

const TONES: Readonly<Record<string, Tone>> = { allow: 'good', deny: 'bad', ask: 'warn' };

function describe(fields: Fields, say: Say): Described {
  const { event, decision } = fields;
  switch (event) {
    case 'execution_ended':
      return describeEnd(say);
    case 'execution_not_started':
      return { tone: 'bad', word: 'failed', text: `not started: ${say('reason')}` };
    case 'call':
      return describeCall(say);
    case 'terminal_input':
      return { tone: 'plain', word: 'typed', text: describeTyped(fields, say) };
    case 'log_opened':
      return { tone: 'quiet', word: 'opened', text: `${say('instance')}, pid ${say('pid')}` };
    case 'log_closed':
      return { tone: 'quiet', word: 'closed', text: '' };
    case 'entries_lost':
      return { tone: 'bad', word: 'lost', text: `${say('count')} entries: ${say('reason')}` };
    default:
      return {
        tone: TONES[String(decision)] ?? 'plain',
        word: say('decision') || 'event',
        text: joined([
          event === 'execution_allowed' || event === 'execution_denied'
            ? ''
            : String(event).replaceAll('_', ' '),
          commandOf(say),
          decision === 'allow' ? '' : joined([say('code'), say('reason')]),
          ['restrictionId', 'executionIds', 'terminalId', 'scope', 'from'].map(say).find(Boolean) ?? '',
          fields['others'] === undefined ? '' : `and ${say('others')} more like it`,
        ]),
      };
  }
}

/** A terminal runs a shell, which nobody typed: it is known by its name. */
function commandOf(say: Say): string {
  const id = say('executionId');
  return say('command') || (isId('exec', id) ? `terminal ${renameId(id, 'term')}` : '');
}

const STATUS_TONES: Readonly<Record<string, Tone>> = { completed: 'good', failed: 'bad', timeout: 'warn' };

function describeEnd(say: Say): Described {
  const status = say('status');
  const why = ['exit', 'signal'].includes(say('reason')) ? '' : say('reason');
  const mark = say('securityEvent').replaceAll('_', ' ');
  const how = say('signal') || `exit ${say('exitCode')}`;
  const facts = [how, why, mark, showSpan(Number(say('durationMs')))].filter((fact) => fact !== '');
  return {
    tone: STATUS_TONES[status] ?? 'plain',
    word: status,
    text: joined([facts.join(', '), commandOf(say)]),
  };
}

function describeCall(say: Say): Described {
  const tool = say('tool');
  return {
    tone: 'quiet',
    word: 'call',
    text: joined([
      tool,
      // What there is not is known by what it was called.
      tool === 'unknown' ? say('calledAs') : '',
      say('outcome') === 'answered' ? '' : joined([say('outcome'), say('code')]),
      showSpan(Number(say('durationMs'))),
      // Its command has lines of its own.
      tool === 'shell_execute' ? '' : say('input'),
    ]),
  };
}

function describeTyped({ input }: Fields, say: Say): string {
  const { text = '', isSecret } = (input ?? {}) as { readonly text?: string; readonly isSecret?: boolean };
  return joined([say('terminalId'), isSecret === true ? '(at a password prompt)' : text]);
}

const joined = (parts: readonly string[]): string => parts.filter((part) => part !== '').join('  ');

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value);
}
