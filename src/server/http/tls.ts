/** The certificate of the server and its key, from files that may be renewed while it runs. */
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { messageOf, ShellServerError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Log } from '../../base/log.ts';
import type { Settings } from '../../base/settings.ts';

export type TlsFiles = NonNullable<Settings['http']['tls']>;

/** Throws SYSTEM_003 where they cannot be read, or do not belong together. */
export function readTls({ cert, key }: TlsFiles): TlsFiles {
  try {
    const context = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
    createSecureContext(context);
    return context;
  } catch (error) {
    throw new ShellServerError('SYSTEM_003', `TLS cannot be used: ${messageOf(error)}.`, {
      hint: 'Set http.tls_cert to a certificate chain and http.tls_key to its private key, both in PEM.',
      cause: error,
    });
  }
}

/** Takes up a renewed certificate for new connections; one that cannot be used leaves the old one. */
export function watchTls(files: TlsFiles, use: (context: TlsFiles) => void, log: Log): () => void {
  let stamp = stampOf(files);
  const timer = setInterval(() => {
    const now = stampOf(files);
    if (now === stamp) return;
    stamp = now;
    try {
      use(readTls(files));
      log.info('loaded a new certificate', { file: files.cert });
    } catch (error) {
      log.error('the new certificate is not used', { error: messageOf(error) });
    }
  }, LIMITS.tlsCheckMs).unref();
  return () => clearInterval(timer);
}

function stampOf({ cert, key }: TlsFiles): string {
  return [cert, key]
    .map((path) => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeMs}`;
    })
    .join(' ');
}
