import { describe, expect, it } from 'vitest';
import { createFixtureTools, NO_MODULES } from '../../test/e2e/support/fixture-tools.ts';
import { createValidatingDispatch } from '../../test/support/validating-dispatch.ts';
import { ShellServerError } from '../base/errors.ts';
import { createLog } from '../base/log.ts';
import type { Tool } from '../tools/tool.ts';
import { type CallContext, type CallEntry, createDispatch, type DispatchOptions } from './dispatch.ts';
import { EVERYTHING } from './grants.ts';

const AT = Date.parse('2026-11-02T10:00:00.000Z');

function setUp(options: Partial<DispatchOptions> = {}, create = createValidatingDispatch) {
  const fixtures = createFixtureTools();
  const logged: Record<string, unknown>[] = [];
  const audited: CallEntry[] = [];
  const dispatch = create({
    tools: fixtures.tools,
    modules: NO_MODULES,
    log: createLog({ verbose: false, write: (line) => logged.push(JSON.parse(line)) }),
    clock: { now: () => AT },
    audit: (entry) => void audited.push(entry),
    ...options,
  });
  return { dispatch, fixtures, logged, audited };
}

function context(overrides: Partial<CallContext> = {}): CallContext {
  return {
    principal: 'local',
    grant: EVERYTHING,
    client: { name: 'test', version: '1' },
    requestId: 'req_1',
    signal: new AbortController().signal,
    ...overrides,
  };
}

describe('dispatch', () => {
  it('runs a tool and encodes its answer in both views', async () => {
    const { dispatch, fixtures, audited } = setUp();
    expect(await dispatch.call('echo', { text: 'hi' }, context())).toEqual({
      content: [{ type: 'text', text: 'hi' }],
      structuredContent: { text: 'hi', client: 'test 1', principal: 'local' },
    });
    expect(fixtures.calls[0]).toMatchObject({ principal: 'local', requestId: 'req_1', progress: undefined });
    expect(audited).toEqual([
      {
        requestId: 'req_1',
        principal: 'local',
        client: { name: 'test', version: '1' },
        tool: 'echo',
        calledAs: 'echo',
        input: { text: 'hi' },
        startedAtMs: AT,
        durationMs: expect.any(Number) as number,
        outcome: 'answered',
      },
    ]);
  });

  it('makes a request id where the transport has none', async () => {
    const { dispatch, fixtures } = setUp();
    const { requestId: _, ...rest } = context();
    await dispatch.call('echo', { text: 'hi' }, rest);
    expect(fixtures.calls[0]?.requestId).toMatch(/^req_/);
  });

  it('throws for an unknown tool, suggests the nearest, and has it on record without its input', async () => {
    const { dispatch, audited } = setUp();
    await expect(dispatch.call('ehco', {}, context())).rejects.toMatchObject({
      name: 'UnknownToolError',
      data: { tool: 'ehco', suggestion: 'echo' },
      message: 'Unknown tool "ehco". Did you mean "echo"?',
    });
    await expect(dispatch.call('__proto__', {}, context())).rejects.toHaveProperty('data', {
      name: 'ToolNotFound',
      tool: '__proto__',
    });
    await expect(dispatch.call('x'.repeat(100_000), { input: 'hunter2' }, context())).rejects.toThrow(
      'Unknown',
    );
    expect(audited).toMatchObject([
      { tool: 'unknown', calledAs: 'ehco', input: {}, outcome: 'failed', principal: 'local' },
      { tool: 'unknown', calledAs: '__proto__' },
      { tool: 'unknown', calledAs: expect.stringMatching(/^x{10,500}…$/), input: {} },
    ]);
  });

  it('calls a tool by an earlier name, and audits both names', async () => {
    const aliased = createFixtureTools().tools[0] as Tool;
    const { dispatch, audited } = setUp({ aliases: new Map([['say', aliased]]) });
    expect((await dispatch.call('say', { text: 'hi' }, context())).structuredContent).toMatchObject({
      text: 'hi',
    });
    expect(audited[0]).toMatchObject({ tool: 'echo', calledAs: 'say' });
  });

  it('shapes an error that was thrown on purpose', async () => {
    const { dispatch, audited, logged } = setUp();
    expect(await dispatch.call('fail', { how: 'denied' }, context())).toEqual({
      isError: true,
      content: [
        {
          type: 'text',
          text: 'A rule forbids it. Rephrase the command so that it stays within the policy. (SECURITY_003)',
        },
      ],
      structuredContent: {
        error: {
          code: 'SECURITY_003',
          message: 'A rule forbids it.',
          category: 'SECURITY',
          details: { rule: 'rm', hint: 'Rephrase the command so that it stays within the policy.' },
          timestamp: '2026-11-02T10:00:00.000Z',
          request_id: 'req_1',
        },
      },
    });
    expect(audited[0]).toMatchObject({ outcome: 'failed', code: 'SECURITY_003' });
    expect(logged).toEqual([]);
  });

  it('hides a bug from the caller and shows it in the log', async () => {
    const { dispatch, logged } = setUp();
    const result = await dispatch.call('fail', { how: 'bug' }, context());
    expect(result.structuredContent).toMatchObject({ error: { code: 'SYSTEM_001', request_id: 'req_1' } });
    expect(result).toMatchObject({ content: [{ text: expect.stringContaining('req_1') }] });
    expect(JSON.stringify(result)).not.toMatch(/secret|dispatch|fixture/);
    expect(logged).toMatchObject([
      {
        level: 'error',
        request_id: 'req_1',
        tool: 'fail',
        error: expect.stringMatching(/secret path[\s\S]*the cause/),
      },
    ]);
  });

  it('keeps the words of a tool that answers with an error of its own', async () => {
    const { dispatch } = setUp();
    expect(await dispatch.call('fail', { how: 'text_only' }, context())).toEqual({
      isError: true,
      content: [{ type: 'text', text: 'it failed in its own words' }],
      structuredContent: {},
    });
  });

  it('refuses an answer outside the output schema, in tests', async () => {
    await expect(setUp().dispatch.call('fail', { how: 'bad_answer' }, context())).rejects.toThrow(
      /fail answered outside its output schema/,
    );
    const inProduction = setUp({}, createDispatch);
    expect(await inProduction.dispatch.call('fail', { how: 'bad_answer' }, context())).toMatchObject({
      content: [{ text: 'other' }],
    });
  });

  it('passes a cancellation on and audits it', async () => {
    const { dispatch, fixtures, audited } = setUp();
    const controller = new AbortController();
    const call = dispatch.call('wait', { label: 'a', ms: 60_000 }, context({ signal: controller.signal }));
    await fixtures.until('started a');
    controller.abort();
    await expect(call).rejects.toMatchObject({ name: 'AbortError' });
    expect(audited).toMatchObject([{ outcome: 'cancelled' }]);
  });

  it('does not start a call that is cancelled already', async () => {
    const { dispatch, fixtures } = setUp();
    const call = dispatch.call('wait', { label: 'a', ms: 1 }, context({ signal: AbortSignal.abort() }));
    await expect(call).rejects.toMatchObject({ name: 'AbortError' });
    expect(fixtures.seen).toEqual([]);
  });

  it('answers with what the audit refuses with', async () => {
    const refuse = (): never => {
      throw new ShellServerError('SYSTEM_002', 'The server is shutting down.');
    };
    const full = setUp({ audit: refuse });
    expect((await full.dispatch.call('echo', { text: 'x' }, context())).structuredContent).toMatchObject({
      error: { code: 'SYSTEM_002' },
    });
  });

  it.each([
    [true, { audit_problem: 'It is full.' }, 'hi\nThis is not recorded. It is full.'],
    [undefined, {}, 'hi'],
  ] as const)('says that it is not recorded where the tool tells that (%s)', async (tells, more, text) => {
    const tools = createFixtureTools().tools.map((tool) =>
      tells === true && tool.name === 'echo' ? { ...tool, tellsUnrecorded: true } : tool,
    );
    const { dispatch } = setUp({ tools, audit: () => 'It is full.' }, createDispatch);
    expect(await dispatch.call('echo', { text: 'hi' }, context())).toEqual({
      content: [{ type: 'text', text }],
      structuredContent: { text: 'hi', client: 'test 1', principal: 'local', ...more },
    });
  });
});
