/**
 * Structured logs on stderr, one JSON object a line. stdout belongs to the transport.
 */
import { isoTime } from './clock.ts';

export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export function createLog(options: { verbose: boolean; write?: (line: string) => void }): Log {
  const write = options.write ?? ((line: string) => void process.stderr.write(line));
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}): void => {
      // JSON escapes control characters, so that nothing a command printed can forge a second line.
      write(`${JSON.stringify({ time: isoTime(Date.now()), level, message, ...fields })}\n`);
    };
  return {
    debug: options.verbose ? at('debug') : () => undefined,
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  };
}

/** For tests and for code that must run before there is a log. */
export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
