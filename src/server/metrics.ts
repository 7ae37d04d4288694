/** The numbers of `/metrics`. Their labels are names of tools, outcomes and codes, of which there are few and none is secret. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { CallEntry } from './dispatch.ts';

export interface Now {
  readonly executions: number;
  readonly terminals: number;
  readonly audit: { readonly lines: number; readonly lost: number; readonly problem: string | undefined };
  readonly http: { readonly connections: number; readonly sessions: number; readonly underWay: number };
}

/** From what answers at once to what is cut off by a client's patience. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export function createMetrics(look: () => Now) {
  const registry = new Registry();
  const registers = [registry];
  // Memory, descriptors, processor time and delays of the event loop, by the names that dashboards know.
  collectDefaultMetrics({ register: registry });
  const calls = new Counter({
    name: 'mcp_shell_calls_total',
    help: 'Calls of tools and methods that ended, by outcome and error code.',
    labelNames: ['tool', 'outcome', 'code'],
    registers,
  });
  const durations = new Histogram({
    name: 'mcp_shell_call_duration_seconds',
    help: 'How long calls took.',
    labelNames: ['tool'],
    buckets: BUCKETS,
    registers,
  });
  const answers = new Counter({
    name: 'mcp_shell_http_requests_total',
    help: 'Requests over HTTP that were answered, by status.',
    labelNames: ['status'],
    registers,
  });
  const gauges: Readonly<Record<string, readonly [help: string, read: (now: Now) => number]>> = {
    executions_running: ['Executions that run now.', (now) => now.executions],
    terminals_open: ['Terminals that are open now.', (now) => now.terminals],
    http_connections: ['Connections that are open now.', ({ http }) => http.connections],
    http_sessions: ['Sessions of 2025-era clients.', ({ http }) => http.sessions],
    http_requests_under_way: ['Requests that are being answered now.', ({ http }) => http.underWay],
    audit_lines: ['Lines that this server has written to the audit log.', ({ audit }) => audit.lines],
    audit_lines_lost: ['Lines that could not be written to the audit log.', ({ audit }) => audit.lost],
    audit_failing: [
      '1 where the audit log cannot be written now, and nothing is run.',
      ({ audit }) => (audit.problem === undefined ? 0 : 1),
    ],
  };
  for (const [name, [help, read]] of Object.entries(gauges)) {
    const gauge: Gauge = new Gauge({
      name: `mcp_shell_${name}`,
      help,
      registers,
      collect: () => gauge.set(read(look())),
    });
  }
  return {
    contentType: registry.contentType,
    onCallEnded({ tool, outcome, code, durationMs }: CallEntry): void {
      calls.inc({ tool, outcome, code: code ?? '' });
      durations.observe({ tool }, durationMs / 1000);
    },
    onAnswered: (status: number): void => answers.inc({ status: String(status) }),
    text: (): Promise<string> => registry.metrics(),
  };
}
