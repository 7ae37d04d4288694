import { describe, expect, test } from 'vitest';
import type { AuditLine } from '../../security/security.ts';
import { fitTo } from '../paint.ts';
import { showLine } from './show-line.ts';

const plain = (_tone: unknown, text: string): string => text;
const lineOf = (fields: Record<string, unknown>): AuditLine => ({
  time: '2026-11-16T10:20:30.400Z',
  instance: 'inst_x',
  seq: 1,
  fields,
  text: '',
});

describe('a line of the audit log', () => {
  test('has its time with a zone', () => {
    expect(showLine(lineOf({ event: 'log_opened', instance: 'inst_x', pid: 7 }), plain)).toBe(
      '2026-11-16 10:20:30Z opened    server inst_x, pid 7',
    );
  });

  test.each(['log_opened', 'log_closed'])('%s of a command of the operator names no server', (event) => {
    const shown = showLine(lineOf({ event, principal: 'operator', instance: 'inst_x', pid: 7 }), plain);
    expect(shown).toContain(' operator ');
    expect(shown).not.toContain('server');
  });

  const id = 'xj5hg7e7wqzvdhas5ija7y478e';
  test.each([
    ['allowed', { event: 'execution_allowed', decision: 'allow', mode: 'terminal' }, `terminal term_${id}`],
    ['denied', { event: 'execution_denied', decision: 'deny', code: 'X' }, `terminal term_${id}  X`],
    [
      'ended',
      { event: 'execution_ended', status: 'completed', exitCode: 0, reason: 'exit', durationMs: 5 },
      `exit 0, 5 ms  terminal term_${id}`,
    ],
  ])('names a terminal, which has no command: %s', (_, fields, text) => {
    const shown = showLine(
      lineOf({ principal: 'local', executionId: `exec_${id}`, command: '', ...fields }),
      plain,
    );
    expect(shown).toMatch(new RegExp(` local ${text}$`));
  });

  test('shows the whole beginning of a command before the end of its paths', () => {
    const command = 'cp /srv/projects/customer/website/packages/theme/index.css /tmp/out && make install';
    const shown = showLine(
      lineOf({ event: 'execution_allowed', decision: 'allow', principal: 'local', command }),
      plain,
      100,
    );
    expect(shown).toHaveLength(100);
    expect(shown).toMatch(/ cp \/srv.*….*index\.css \/tmp\/out && make install$/);
  });
});

test.each([
  ['fits', 'cat /etc/hosts', 20, 'cat /etc/hosts'],
  ['one path', 'cat /srv/projects/customer/website/index.css now', 30, 'cat /srv/p…bsite/index.css now'],
  ['no path', 'echo one two three four', 10, 'echo one …'],
  ['nothing is left', 'cat /srv/projects/customer/website/index.css', 0, ''],
  ['wide characters', 'cat /srv/プロジェクト/プロジェクト/a.css', 26, 'cat /srv/…ロジェクト/a.css'],
  [
    'two paths',
    'cp /srv/projects/customer/a.css /srv/projects/customer/b.css',
    45,
    'cp /srv/…customer/a.css /srv/p…customer/b.css',
  ],
])('fitTo: %s', (_, text, columns, shown) => {
  expect(fitTo(text, columns)).toBe(shown);
});
