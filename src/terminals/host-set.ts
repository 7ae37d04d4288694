/** The hosts of this server's terminals: its own, started with the first terminal, and those it took over. */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { Gone } from './channel.ts';
import { type Host, type HostStart, type OwnHost, startHost, takeOverHosts } from './hosts.ts';
import type { HostEvent } from './protocol.ts';

export interface HostSetOptions extends Omit<HostStart, 'onKilled'> {
  readonly log: Log;
  onEvent(event: HostEvent): void;
  onClose(host: Host): void;
}

/** For a host to leave. */
const SHUTDOWN_MS = 500;

export function createHostSet(options: HostSetOptions) {
  const { directory, log } = options;
  const hosts = new Set<Host>();
  let own: Promise<OwnHost> | undefined;

  const onKilled = (): void => log.error('the terminal host did not respond and was killed', {});

  function watch<Watched extends Host>(host: Watched): Watched {
    hosts.add(host);
    host.onEvent(options.onEvent);
    host.onClose(() => {
      hosts.delete(host);
      options.onClose(host);
    });
    return host;
  }

  return {
    async own(): Promise<OwnHost> {
      own ??= startHost({ ...options, onKilled }).then((host) => {
        host.onClose(() => {
          own = undefined;
        });
        return watch(host);
      });
      try {
        return await own;
      } catch (error) {
        own = undefined;
        throw error;
      }
    },
    /** Those of a server that is gone. */
    async takeOver(id: string, onHost: (host: Host) => Promise<void>): Promise<void> {
      const found = await takeOverHosts(directory, id, { onKilled }).catch((error: unknown) => {
        log.warn('terminals of a server that is gone cannot be reached', { error: messageOf(error) });
        return [];
      });
      for (const host of found)
        await onHost(watch(host)).catch((error: unknown) => {
          // One without terminals leaves by itself.
          if (!(error instanceof Gone)) throw error;
        });
    },
    async dispose(): Promise<void> {
      const leaving = [...hosts].map(async (host) => {
        const late = (): Promise<void> => sleep(SHUTDOWN_MS, undefined, { ref: false });
        await Promise.race([host.ask('shutdown', {}), late()]).catch(() => undefined);
        // Nor does one that hangs take leave.
        await Promise.race([host.end(), late()]);
      });
      await Promise.allSettled(leaving);
    },
  };
}
