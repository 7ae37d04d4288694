import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { createEventLog, type SessionEvents } from './event-store.ts';

const message = (text: string): JSONRPCMessage => ({ jsonrpc: '2.0', method: 'note', params: { text } });

async function replay(events: SessionEvents, lastEventId: string): Promise<string[]> {
  const texts: string[] = [];
  await events.replayEventsAfter(lastEventId, {
    send: async (_, sent) => void texts.push((sent as unknown as { params: { text: string } }).params.text),
  });
  return texts;
}

describe('the events of a session', () => {
  it('are replayed by stream, after the one that was last seen', async () => {
    const events = createEventLog({ maxEvents: 100, maxBytes: 10_000 }).open();
    const primed = await events.storeEvent('s.1', {} as JSONRPCMessage);
    const first = await events.storeEvent('s.1', message('a'));
    await events.storeEvent('s.2', message('other'));
    await events.storeEvent('s.1', message('b'));
    expect(await replay(events, primed)).toEqual(['a', 'b']);
    expect(await replay(events, first)).toEqual(['b']);
    expect(await events.getStreamIdForEventId(first)).toBe('s.1');
  });

  it('are not seen by another session, nor after it is closed', async () => {
    const log = createEventLog({ maxEvents: 100, maxBytes: 10_000 });
    const mine = log.open();
    const yours = log.open();
    const id = await mine.storeEvent('s', message('a'));
    expect(await yours.getStreamIdForEventId(id)).toBeUndefined();
    await expect(replay(yours, id)).rejects.toThrow('unknown event');
    await yours.storeEvent('s', message('b'));
    expect(await replay(yours, 's.0')).toEqual(['b']);
    mine.close();
    expect(await replay(mine, 's.0')).toEqual([]);
    expect(await replay(yours, 's.0')).toEqual(['b']);
  });

  it('are dropped oldest first, by number and by size', async () => {
    const few = createEventLog({ maxEvents: 2, maxBytes: 10_000 }).open();
    for (const text of ['a', 'b', 'c']) await few.storeEvent('s', message(text));
    expect(await replay(few, 's.0')).toEqual(['b', 'c']);
    const small = createEventLog({ maxEvents: 100, maxBytes: 1000 }).open();
    for (const text of ['a', 'b', 'c', 'd', 'e', 'f']) await small.storeEvent('s', message(text.repeat(150)));
    expect((await replay(small, 's.0')).map((text) => text[0])).toEqual(['c', 'd', 'e', 'f']);
  });

  it('are not kept where one would push out all others', async () => {
    const events = createEventLog({ maxEvents: 100, maxBytes: 1000 }).open();
    await events.storeEvent('s', message('a'));
    await events.storeEvent('s', message('x'.repeat(600)));
    expect(await replay(events, 's.0')).toEqual(['a']);
  });

  it('remember a bounded number of streams', async () => {
    const events = createEventLog({ maxEvents: 10, maxBytes: 10_000 }).open();
    for (let index = 0; index < 2000; index++) await events.storeEvent(`s${index}`, message('a'));
    expect(await events.getStreamIdForEventId('s0.1')).toBeUndefined();
    expect(await events.getStreamIdForEventId('s1999.2000')).toBe('s1999');
  });

  it('are not pushed out by what another principal makes', async () => {
    const log = createEventLog({ maxEvents: 10, maxBytes: 10_000 });
    const quiet = log.open('quiet');
    const first = await quiet.storeEvent('s', message('first'));
    await quiet.storeEvent('s', message('second'));
    const noisy = [log.open('noisy'), log.open('noisy')];
    for (let n = 0; n < 100; n++)
      await noisy[n % 2]?.storeEvent('s', message(`noise ${n} ${'x'.repeat(500)}`));
    expect(await replay(quiet, first)).toEqual(['second']);
  });
});
