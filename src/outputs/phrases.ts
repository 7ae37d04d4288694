/** The words that views share when they say what is missing. */
import type { Gap } from './types.ts';

export function plural(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** As toLocaleString writes it, which takes a hundredth of a second the first time. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** Readers do not know which: the process that wrote the output may be gone. */
const WHY = 'because the output passed its limit or the disk was full';

export function notKept(byteCount: number): string {
  return `${plural(byteCount, 'byte')} ${byteCount === 1 ? 'was' : 'were'} not kept, ${WHY}`;
}

export function describeGap(gap: Gap): string {
  return `The bytes from ${gap.from} to ${gap.to - 1} were not kept, ${WHY}; what follows begins at offset ${gap.to}.`;
}
