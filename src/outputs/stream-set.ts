/** Which streams a bundle has: the captured ones, and `combined` where it is put together from stdout and stderr. */
import type { StreamType } from './types.ts';

export type StreamSet = ReturnType<typeof createStreamSet>;

/** `hasOrder`, whether the order of arrival is there, is only asked where it matters. */
export function createStreamSet(streams: readonly StreamType[], hasOrder: () => boolean) {
  let captured = streams;
  let hasDerived = derivesCombined(streams) && hasOrder();

  return {
    captured: (): readonly StreamType[] => captured,
    /** What there is, and has not been deleted. */
    types: (): readonly StreamType[] => (hasDerived ? [...captured, 'combined'] : captured),
    /** Whether this is a `combined` that is put together on reading. */
    isDerived: (type: StreamType): boolean => type === 'combined' && hasDerived,
    remove(type: StreamType): void {
      captured = captured.filter((other) => other !== type);
      hasDerived = hasDerived && type !== 'combined' && derivesCombined(captured);
    },
    /** Adds the size of a derived `combined`. */
    withDerived(sizes: Map<StreamType, number>): ReadonlyMap<StreamType, number> {
      if (hasDerived) sizes.set('combined', (sizes.get('stdout') ?? 0) + (sizes.get('stderr') ?? 0));
      return sizes;
    },
  };
}

export function derivesCombined(streams: readonly StreamType[]): boolean {
  return streams.includes('stdout') && streams.includes('stderr') && !streams.includes('combined');
}
