/**
 * An entry as JSON that cannot do harm: secrets masked, control characters escaped (by JSON itself, so that nothing a
 * caller says can begin a line of its own), and never longer than a reader can hold.
 */
import { LIMITS } from '../../base/limits.ts';
import { isMaskedName, MASK, type Mask, maskBeginning } from '../secrets.ts';

/** What a value takes besides its text. */
const VALUE_CHARS = 4;

export function encodeEntry(entry: object, mask: Mask): string {
  let room: number = LIMITS.auditLineChars;

  /** The replacer is asked about a list or an object before its parts, so that what is cut is never visited. */
  return JSON.stringify(entry, (key, value: unknown) => {
    room -= key.length + VALUE_CHARS;
    // Absent from an object, null in a list.
    if (room <= 0) return undefined;
    if (typeof value === 'string') {
      if (isMaskedName(key)) return MASK;
      const shown = fit(value, Math.min(room, LIMITS.auditTextChars), mask);
      room -= shown.length;
      return shown;
    }
    return typeof value === 'object' && value !== null ? fewer(value) : value;
  });
}

function fit(text: string, room: number, mask: Mask): string {
  if (text.length <= room) return mask(text);
  return `${maskBeginning(text, room, mask)}… (${text.length} characters)`;
}

function fewer(value: object): object {
  const most = LIMITS.auditListItems;
  if (Array.isArray(value)) {
    const items: unknown[] = value;
    return items.length <= most ? items : [...items.slice(0, most), `… ${items.length - most} more`];
  }
  const fields = Object.entries(value);
  return fields.length <= most ? value : Object.fromEntries(fields.slice(0, most));
}
