/** What an entry of `allowed_domains` may look like. */
const LABEL = '[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?';
const DOMAIN = new RegExp(`^(?:\\*\\.)?${LABEL}(?:\\.${LABEL})*\\.?(?::\\d{1,5})?$`, 'i');
const ADDRESS = /^\[[0-9a-f:.]+\](?::\d{1,5})?$/i;

/** The sentence that says what is wrong with it. */
export function checkDomainEntry(entry: string): string | undefined {
  if (entry.length <= 260 && (DOMAIN.test(entry) || ADDRESS.test(entry))) return undefined;
  return 'must be domains such as "example.com", "*.example.com" or "example.com:8443"';
}
