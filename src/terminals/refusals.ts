/** Why something is not typed, and what to send instead. */
export interface Refusal {
  readonly kind: 'refuse';
  readonly reason: string;
  readonly hint: string;
}

type Why =
  | 'together'
  | 'alone'
  | 'apart'
  | 'long'
  | 'edited'
  | 'retype'
  | 'run'
  | 'hidden'
  | 'keys'
  | 'history'
  | 'early';

const REFUSALS: Readonly<Record<Why, [string, string]>> = {
  together: [
    'Nothing was sent: under a list of commands, what comes behind Ctrl-C, Ctrl-D, Ctrl-Z or Ctrl-\\ in one call is not judged.',
    'Send that key in a call of its own, then the rest.',
  ],
  alone: [
    'Nothing was sent: the program may read only a part of it, and the shell would run the rest.',
    'Send the password alone: one line with Enter, in one call, and nothing after it.',
  ],
  apart: [
    'Nothing was sent: the program may read only a part of it, and the shell would run the rest.',
    'Send one line at a time, and other keys on their own: first keys ["ctrl+d"], say, then the text, once the answer shows who reads it.',
  ],
  long: [
    'Nothing was sent: the program may leave a part of this line to the shell, and it is too long to judge each.',
    'Send shorter lines, or give the program its input from a file. Keys ["ctrl+c"] end a line that was begun.',
  ],
  edited: [
    'Nothing was sent: what Enter would run is not certain, since a key before it changes the line.',
    'Send the other keys first; when the line is shown, send Enter alone (keys ["enter"]).',
  ],
  retype: [
    'Nothing was sent: under a list of commands a line is judged as it was typed, and other keys may have changed this one.',
    'Send keys ["ctrl+c"] for an empty line, then the whole command with Enter.',
  ],
  run: [
    'Nothing was sent: one of these keys may run the line without Enter.',
    'Send Enter alone (keys ["enter"]) to run it, keys ["ctrl+c"] to drop it.',
  ],
  hidden: [
    'Nothing was sent: what Enter would run cannot be seen.',
    'Send keys ["ctrl+c"] for an empty line, type the command without other keys, and send Enter alone or with it.',
  ],
  keys: [
    'Nothing was sent: the keys that edit a line were changed (stty), so that what Enter would run is not certain.',
    'Open another terminal.',
  ],
  early: [
    'Nothing was sent: the shell does not read yet, and it is not certain what it would run later.',
    'Send only whole lines of plain text, or wait until it reads or the prompt is back: terminal_get_output with timeout_seconds.',
  ],
  history: [
    'Nothing was sent: the shell makes another line of this one before it is run (history expansion).',
    'Type the command itself; or switch it off with `set +H` (zsh: `unsetopt banghist`).',
  ],
};

export const NOT_ALONE = refuse('alone');
export const CANNOT_SEE = { reason: REFUSALS.hidden[0], hint: REFUSALS.hidden[1] };

export function refuse(why: Why): Refusal {
  const [reason, hint] = REFUSALS[why];
  return { kind: 'refuse', reason, hint };
}
