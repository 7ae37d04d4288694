/** The words that views share when they say what is missing. */
import type { Gap } from './types.ts';

export function plural(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}

export function notKept(byteCount: number): string {
  return `${plural(byteCount, 'byte')} ${byteCount === 1 ? 'was' : 'were'} not kept, because the output passed its limit`;
}

export function describeGap(gap: Gap): string {
  return `The bytes from ${gap.from} to ${gap.to - 1} were not kept, because the output passed its limit; what follows begins at offset ${gap.to}.`;
}
