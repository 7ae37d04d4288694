/** Whether a URL answers with a status below 500. On this machine only a port is asked that the execution listens on. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { RequestOptions } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { UrlTarget } from '../../security/security.ts';
import type { Watcher } from './conditions.ts';

const ANSWER_MS = 5000;
/** Between two requests: a server that starts up should not be flooded. */
const PAUSE_MS = 100;

export function watchUrl(target: UrlTarget, isListening: () => boolean, onAnswer: () => void): Watcher {
  let request: ClientRequest | undefined;
  let isAsking = false;
  let isAnswered = false;
  let nextAt = 0;

  async function ask(): Promise<void> {
    isAsking = true;
    try {
      const addresses = await target.resolve();
      if (addresses.length > 0) isAnswered = await answers(addresses);
    } catch {
      // Nobody answers yet.
    } finally {
      isAsking = false;
      nextAt = performance.now() + PAUSE_MS;
      if (isAnswered) onAnswer();
    }
  }

  async function answers(addresses: readonly string[]): Promise<boolean> {
    const { url, isLoopback } = target;
    const { request: start } = await import(url.protocol === 'https:' ? 'node:https' : 'node:http');
    const lookup: LookupFunction = (_host, _options, done) =>
      done(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    return new Promise((resolve, reject) => {
      // Node passes the last one on to the socket; its types do not know.
      const options: RequestOptions & { autoSelectFamily: boolean } = {
        agent: false,
        lookup,
        timeout: ANSWER_MS,
        headers: { connection: 'close' },
        // A development server signs its own certificate; nothing of the answer is used but its status.
        ...(url.protocol === 'https:' && { rejectUnauthorized: !isLoopback }),
        autoSelectFamily: true,
      };
      const started = start(url, options);
      request = started;
      started.on('response', (response: IncomingMessage) => {
        response.destroy();
        resolve((response.statusCode ?? 500) < 500);
      });
      started.on('timeout', () => started.destroy(new Error('no answer')));
      started.on('error', reject);
      started.end();
    });
  }

  return {
    look(hasEnded) {
      if (isAnswered) return { kind: 'met' };
      if (!hasEnded && !isAsking && performance.now() >= nextAt && isListening()) void ask();
      return undefined;
    },
    dispose: () => void request?.destroy(),
  };
}
