import type { ByteSource } from './types.ts';

type Use<Value> = (source: ByteSource) => Value | Promise<Value>;

/** What comes of reading it, after which it is closed; undefined where there is none. */
export function useSource<Value>(source: ByteSource, use: Use<Value>): Promise<Value>;
export function useSource<Value>(source: ByteSource | undefined, use: Use<Value>): Promise<Value | undefined>;
export async function useSource<Value>(source: ByteSource | undefined, use: Use<Value>) {
  if (source === undefined) return undefined;
  try {
    return await use(source);
  } finally {
    source.close();
  }
}
