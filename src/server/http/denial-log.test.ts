import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ShellServerError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { createDenialLog, type DeniedRequest } from './denial-log.ts';
import { protocolRejection, type Rejection, serverRejection } from './rejection.ts';

const request = (headers: Record<string, string> = {}): IncomingMessage =>
  ({ socket: { remoteAddress: '192.0.2.1' }, headers }) as unknown as IncomingMessage;

const wrongToken = (requestId: string): Rejection =>
  serverRejection(401, new ShellServerError('AUTH_002', 'The bearer token is not valid.'), requestId);

function open(windowMs?: number) {
  const recorded: DeniedRequest[] = [];
  return { recorded, denialLog: createDenialLog((entry) => recorded.push(entry), windowMs) };
}

describe('a denied request', () => {
  it('is recorded with all that is known about them', () => {
    const { recorded, denialLog } = open();
    denialLog.add(request({ host: 'localhost:1' }), wrongToken('req_1'), 'req_1');
    const foreign = request({ host: 'localhost:1', origin: `http://evil.example/${'x'.repeat(10_000)}` });
    denialLog.add(foreign, protocolRejection(403, -32_000, 'The Origin is not allowed'), 'req_2');
    denialLog.close();
    expect(recorded).toEqual([
      {
        requestId: 'req_1',
        status: 401,
        code: 'AUTH_002',
        reason: 'The bearer token is not valid.',
        from: '192.0.2.1',
        host: 'localhost:1',
      },
      {
        requestId: 'req_2',
        status: 403,
        reason: 'The Origin is not allowed',
        from: '192.0.2.1',
        host: 'localhost:1',
        origin: expect.stringMatching(/^http:\/\/evil\.example\/x+…$/),
      },
    ]);
    expect(recorded[1]?.origin?.length).toBeLessThan(1000);
  });

  it('a million times is recorded a few times and then as a number, and hides nobody else', () => {
    const { recorded, denialLog } = open();
    for (let n = 1; n <= 100_000; n++) denialLog.add(request(), wrongToken(`req_${n}`), `req_${n}`);
    expect(recorded).toHaveLength(LIMITS.deniedRequestLines);
    denialLog.add(
      request({ host: 'evil' }),
      protocolRejection(403, -32_000, 'The Host is not allowed'),
      'req_x',
    );
    expect(recorded.at(-1)).toMatchObject({ requestId: 'req_x' });
    denialLog.close();
    const others = 100_000 - LIMITS.deniedRequestLines - 1;
    expect(recorded.at(-1)).toMatchObject({ requestId: 'req_100000', code: 'AUTH_002', others });
    expect(recorded).toHaveLength(LIMITS.deniedRequestLines + 2);
  });

  it('is recorded one by one again when the time is over', async () => {
    const { recorded, denialLog } = open(20);
    for (let n = 0; n < LIMITS.deniedRequestLines + 5; n++)
      denialLog.add(request(), wrongToken('req_1'), 'req_1');
    const lines = recorded.length;
    await expect.poll(() => recorded.at(-1)).toMatchObject({ others: expect.any(Number) });
    await sleep(1);
    denialLog.add(request(), wrongToken('req_2'), 'req_2');
    expect(recorded.length).toBeGreaterThan(lines + 1);
    expect(recorded.at(-1)).toMatchObject({ requestId: 'req_2' });
    expect(recorded.at(-1)?.others).toBeUndefined();
    denialLog.close();
  });
});
