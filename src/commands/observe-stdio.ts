/** Health and metrics beside a server on stdio, whose client is not kept waiting for them. */
import { ShellServerError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Front } from '../front.ts';
import { type Observation, serveOperation } from '../server/operation.ts';

/** Undefined where the port is unavailable: a client may start a server twice, and the second has to answer too. */
export async function observeStdio(options: {
  readonly host: string;
  readonly port: number;
  readonly front: Pick<Front, 'app'>;
  readonly log: Log;
}): Promise<Observation | undefined> {
  const { host, port, front, log } = options;
  try {
    const observation = await serveOperation({ host, port, app: await front.app() });
    observation.watch({
      counts: () => ({ connections: 0, sessions: 0, underWay: 0 }),
      isLeaving: () => false,
    });
    log.info('health and metrics', { url: observation.url });
    return observation;
  } catch (error) {
    if (!(error instanceof ShellServerError)) throw error;
    log.warn('health and metrics are not served', { problem: error.message });
    return undefined;
  }
}
