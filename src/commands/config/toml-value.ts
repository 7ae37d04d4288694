/** A value as TOML, on one line. */
export function tomlValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(', ')}]`;
  if (value !== null && typeof value === 'object') {
    const pairs = Object.entries(value).map(([name, item]) => `${tomlKey(name)} = ${tomlValue(item)}`);
    return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`;
  }
  // A basic string of TOML escapes what JSON escapes, but for DEL.
  return JSON.stringify(value).replaceAll('\u007f', '\\u007f');
}

export function tomlKey(name: string): string {
  return /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
}
