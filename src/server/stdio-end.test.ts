import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  call,
  connectStreams,
  initialize,
  modern,
  request,
  textOf,
} from '../../test/e2e/support/raw-streams.ts';
import { LIMITS } from '../base/limits.ts';

describe('the end of a stdio connection', () => {
  it('answers everything first where there was no handshake', async () => {
    const { input, fixtures, connection, received, events } = connectStreams();
    input.write(`${JSON.stringify(call(1, 'wait', { label: 'a', ms: 150 }))}\n`);
    // No line end: `echo -n`.
    input.end(JSON.stringify(call(2, 'echo', { text: 'b' })));
    await sleep(50);
    expect(events).toEqual([]);
    await connection.closed;
    expect(received).toMatchObject([{ id: 2 }, { id: 1, result: { structuredContent: { waited: 150 } } }]);
    expect(fixtures.seen).toEqual(['started a', 'done a']);
    expect(events).toEqual(['gone', 'closed']);
  });

  it('answers a batch first where there was no handshake', async () => {
    const { input, connection, received } = connectStreams();
    input.end(JSON.stringify([call(1, 'wait', { label: 'a', ms: 50 }), call(2, 'echo', { text: 'b' })]));
    await connection.closed;
    expect(received).toMatchObject([[{ id: 2 }, { id: 1 }]]);
  });

  it.each(['legacy', 'modern'])('cancels at once what a client of the %s era left behind', async (era) => {
    const { say, input, next, fixtures, connection, received, events } = connectStreams();
    if (era === 'legacy') {
      say(initialize);
      await next();
    }
    const waiting = call(1, 'wait', { label: 'a', ms: 60_000 });
    say(era === 'modern' ? modern(waiting) : waiting);
    await fixtures.until('started a');
    input.end();
    await fixtures.until('aborted a');
    await connection.closed;
    expect(received).toEqual([]);
    expect(events).toEqual(['gone', 'closed']);
  });

  it('still writes what is answered from memory when a handshake was piped in', async () => {
    const { input, connection, received, fixtures } = connectStreams();
    const lines = [initialize, request(1, 'tools/list'), call(2, 'wait', { label: 'a', ms: 60_000 })];
    input.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    await connection.closed;
    expect(received).toMatchObject([{ id: 0 }, { id: 1 }]);
    expect(fixtures.seen).not.toContain('done a');
  });

  it('cancels at once when nobody reads any more', async () => {
    const { say, output, fixtures, connection, events } = connectStreams();
    say(call(1, 'wait', { label: 'a', ms: 60_000 }));
    await fixtures.until('started a');
    output.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    await fixtures.until('aborted a');
    await connection.closed;
    expect(events).toEqual(['gone', 'closed']);
  });

  it('takes an input that breaks for a client that left', async () => {
    const { say, input, fixtures, connection, events } = connectStreams();
    say(call(1, 'wait', { label: 'a', ms: 60_000 }));
    await fixtures.until('started a');
    input.destroy(new Error('EIO'));
    await fixtures.until('aborted a');
    await connection.closed;
    expect(events).toEqual(['gone', 'closed']);
  });

  it('cancels and stops reading when we close, without calling that a client who left', async () => {
    const { say, fixtures, connection, received, events } = connectStreams();
    say(call(1, 'wait', { label: 'a', ms: 60_000 }));
    await fixtures.until('started a');
    await connection.close();
    await connection.close();
    await fixtures.until('aborted a');
    say(call(2, 'echo', { text: 'nobody hears this' }));
    await sleep(30);
    expect(received).toEqual([]);
    expect(events).toEqual(['closed']);
  });

  it('stops reading requests while their answers are not read, and loses none', async () => {
    const { say, input, output, next, received } = connectStreams();
    output.pause();
    const size = 2 * 1024 * 1024;
    const wanted = Math.ceil(LIMITS.outputHighBytes / size) + 20;
    for (let id = 1; id <= wanted; id++) {
      say(call(id, 'echo', { text: 'x', size }));
      await sleep(2);
    }
    await sleep(50);
    expect(input.isPaused()).toBe(true);
    expect(input.readableLength).toBeGreaterThan(0);
    expect(output.writableLength + output.readableLength).toBeLessThan(LIMITS.outputHighBytes * 2.5);
    output.resume();
    const answers = await next(wanted);
    expect(answers.map((answer) => (answer as { id: number }).id)).toEqual(
      Array.from({ length: wanted }, (_, index) => index + 1),
    );
    expect(received).toEqual([]);
    say(call('last', 'echo', { text: 'on' }));
    expect(textOf((await next())[0])).toBe('on');
    input.end();
  });
});
