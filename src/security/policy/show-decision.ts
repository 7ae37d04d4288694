/** How commands are shown: nothing in them may move a terminal's cursor, hide text or look like another line. */

/** Of a command in a denial; the whole text is in the audit log. */
const PART_LENGTH = 300;

const UNSAFE =
  // Control characters, and those that Unicode gives no width or lets run from right to left.
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff]|[\u{e0000}-\u{e0fff}]/gu;

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\r': '\\r' };

/** Control and invisible characters as escapes. */
export function escapeText(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return NAMED[character] ?? (code < 0x100 ? `\\x${hex(code, 2)}` : `\\u{${hex(code, 4)}}`);
  });
}

/** JSON that is shown in a terminal: the same characters as escapes of JSON, so that it still says what it said. */
export function escapeJson(json: string): string {
  return json.replace(UNSAFE, (character) =>
    // The line ends of the layout; those inside of texts are escaped already.
    character === '\n'
      ? character
      : Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at), 4)}`).join(
          '',
        ),
  );
}

/** The same, and short enough for a sentence. */
export function showPart(text: string): string {
  const trimmed = text.trim();
  if (trimmed.length <= PART_LENGTH) return escapeText(trimmed);
  return `${escapeText(trimmed.slice(0, PART_LENGTH))}… (${trimmed.length} characters)`;
}

/** An argument as one word of a line that can be read and matched: quoted where it holds more than a plain word. */
export function quoteWord(value: string): string {
  return /^[\w@%+=:,./~^*?!#[\]{}-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
