/**
 * Settings from the command line.
 */
import { isIPv6 } from 'node:net';
import { flagOf, SETTING_KEYS, SETTINGS, type SettingKey } from './keys.ts';
import type { SettingFlags } from './kinds.ts';
import { type Entries, enterText, type Layer, type Mistakes, mistake } from './layers.ts';
import type { PathBase } from './paths.ts';

export function readFlagLayer(flags: SettingFlags, options: { base: PathBase; mistakes: Mistakes }): Layer {
  const { base, mistakes } = options;
  const typed = new Map<SettingKey, string>();
  for (const key of SETTING_KEYS) {
    const { flag } = SETTINGS[key];
    const text = flag === undefined || flag === 'httpAddress' ? undefined : flags[flag];
    if (text !== undefined) typed.set(key, text);
  }
  if (flags.httpAddress !== undefined) {
    const address = parseHttpAddress(flags.httpAddress.trim());
    if (typeof address === 'string') mistakes.push(mistake('http', address, '--http'));
    else {
      if (address.host !== undefined) typed.set('http.host', address.host);
      if (address.port !== undefined) typed.set('http.port', address.port);
    }
  }
  const entries: Entries = {};
  for (const [key, text] of typed)
    enterText(entries, text, { key, where: flagOf(key) ?? key, base, mistakes });
  return { source: 'flag', entries };
}

/** "host:port", ":port", "port" or "host"; otherwise a sentence that says what is wrong with it. */
export function parseHttpAddress(
  text: string,
): { host?: string | undefined; port?: string | undefined } | string {
  if (/^\d+$/.test(text)) return { port: text };
  if (isIPv6(text)) return `must have an IPv6 address in brackets: [${text}]`;
  const [, bracketed, bare, port] = /^(?:\[([^\]]+)\]|([^:[\]/\s]*))(?::(\d+))?$/.exec(text) ?? [];
  const isMeant = bracketed === undefined ? (bare ?? '') !== '' || port !== undefined : isIPv6(bracketed);
  if (!isMeant) {
    return `must be host:port, :port, port or host, with IPv6 in brackets, got ${JSON.stringify(text)}`;
  }
  return { host: bracketed ?? (bare === '' ? undefined : bare), port };
}
