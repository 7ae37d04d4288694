/**
 * Masking of secrets in what is logged, recorded and shown: variables whose name says that they hold one, and texts of
 * well-known shapes. It hides what can be recognised, and promises no more.
 */

export const MASK = '***';

const SECRET_NAME =
  /(?:^|_)(?:pass(?:word|wd|phrase)?|pwd|secrets?|tokens?|api_?keys?|apikey|access_?keys?|private_?keys?|credentials?|auth|cookie|session_?key|signing_?key|encryption_?key|dsn|jwt)(?:_|$)|(?:token|secret|password|apikey)$/i;

/** Whole words that are secrets by their shape: provider prefixes, JSON web tokens, private keys. */
const SHAPES: readonly RegExp[] = [
  /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})/g,
  /\b(?:sk|pk|rk)[-_](?:live|test|ant|proj|or)?[-_]?[A-Za-z0-9_-]{16,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bxox[abeprs]-[A-Za-z0-9-]{10,}/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\bnpm_[A-Za-z0-9]{30,}/g,
  // Our own.
  /\bmcpsh_[A-Za-z0-9_-]{30,}/g,
  /\beyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{0,4096}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
];

/** A place where the secret follows a word that announces it; the word stays. */
const ANNOUNCED: readonly RegExp[] = [
  /((?:authorization|proxy-authorization)\s*:\s*(?:bearer|basic|token)\s+)[^\s'"\\]+/gi,
  /(\bbearer\s+)[A-Za-z0-9._~+/-]{8,}=*/gi,
  /((?:x-api-key|api-key|x-auth-token|cookie|set-cookie)\s*:\s*)[^\s'"\\][^'"\\\n]*/gi,
  /(:\/\/[^\s:/@'"]*:)[^\s@/'"]+(?=@)/g,
  /(--?(?:password|passwd|pass|token|secret|api-?key|access-?key|private-?token|auth-?token)[= ])(?:"[^"]*"|'[^']*'|[^\s'"]+)/gi,
  /(\b[A-Za-z_]{0,64}(?:password|passwd|secret|token|api_?key|access_?key)[A-Za-z_]{0,64}\s{0,8}[=:]\s{0,8})(?:"[^"\n]*"|'[^'\n]*'|[^\s'"&;|]+)/gi,
  /(authorization\\{0,4}["']\s{0,8}:\s{0,8}\\{0,4}["'](?:basic|token)\s{1,8})[^\s'"\\]+/gi,
  // As JSON has it, also inside of quotes. Numbers stay: those are counts of tokens.
  /(\b[A-Za-z_-]{0,64}(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key)[A-Za-z_-]{0,64}\\{0,4}["']\s{0,8}:\s{0,8})(?:\\{1,4}"[^"\n]*"|"(?:[^"\\\n]|\\.)*"|"[^"\n]*"|'[^'\n]*')/gi,
  /(\bsshpass(?:\s+-v|\s+-P\s*(?:"[^"\n]*"|'[^'\n]*'|[^\s'"]+)){0,4}\s+-p\s*)(?:"[^"\n]*"|'[^'\n]*'|[^\s'"]+)/g,
];

/** Of curl, with short options that take nothing before it. Of `user:password` the user stays. */
const CURL_USER = String.raw`(\s(?:-[#0-46aBfGgIiJjkLlNnOpqRSsvZ]{0,16}[uU]\s*|--(?:proxy-)?user[=\s]\s*)`;
const USER_AND_PASSWORD = [
  String.raw`"[^":\n]{0,256}:)[^"\n]+`,
  String.raw`'[^':\n]{0,256}:)[^'\n]+`,
  String.raw`[^\s:"']{0,256}:)(?:"[^"\n]*"|'[^'\n]*'|[^\s'"])+`,
];

/** Options that hold a password with some programs, and other things with others. */
const OPTIONS: readonly { readonly programs: RegExp; readonly options: readonly RegExp[] }[] = [
  {
    programs: /\bcurl(?=\s)/,
    options: USER_AND_PASSWORD.map((form) => new RegExp(`${CURL_USER}${form}`, 'g')),
  },
  {
    // Only what is attached: a word of its own is the database.
    programs:
      /\b(?:mysql(?:admin|check|dump|import|pump|sh|show|slap)?|mariadb(?:-(?:admin|check|dump|import|show|slap))?)(?=\s)/,
    options: [/(\s-p)(?:"[^"\n]*"|'[^'\n]*'|[^\s'"])+/g],
  },
];

/** About a command of a text: separators between quotes are none. */
const COMMAND = /(?:"[^"]*"|'[^']*'|[^\n;|&"'])+/g;

/** Without one of these words none of the above can be found: most texts are done with after one look. */
const SHAPED = /gh[pousr]_|github_pat_|glpat-|[spr]k[-_]|AKIA|ASIA|xox|AIza|npm_|mcpsh_|eyJ|PRIVATE KEY/;
const ANNOUNCING = /pass|secret|token|key|auth|bearer|cookie|:\/\//i;
const PROGRAM = /curl|mysql|mariadb/;

/** So surely that a command may be kept from having it. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** Ends as secrets do, and may be something else: `STRIPE_KEY`, `GH_PAT`. To mask one too many does no harm. */
const MASKED_NAME = /_key$|(?:^|_)pat$/i;
const KNOWN_KEY = /(?:^|_)(?:public|pub|primary|foreign|sort|partition|cache|host)_key$/i;

export function isMaskedName(name: string): boolean {
  return isSecretName(name) || (MASKED_NAME.test(name) && !KNOWN_KEY.test(name));
}

/** Shorter ones would be found everywhere. */
const MIN_SECRET_LENGTH = 8;

/** The values of variables that hold secrets, by which they are found in a text. PWD alone is the working directory. */
export function secretValues(environment: Readonly<Record<string, string>>): string[] {
  const values = Object.entries(environment)
    .filter(([name, value]) => isMaskedName(name) && name !== 'PWD' && value.length >= MIN_SECRET_LENGTH)
    .map(([, value]) => value);
  return [...new Set(values)];
}

export type Mask = (text: string) => string;

/** Masks the values of this environment besides. To be made once: each line of a log passes through it. */
export function createMask(environment: Readonly<Record<string, string>>): Mask {
  // The longest first: one may begin with another.
  const values = secretValues(environment).toSorted((one, other) => other.length - one.length);
  if (values.length === 0) return maskText;
  const known = new RegExp(
    values.map((value) => value.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'),
    'g',
  );
  return (text) => maskText(text.replace(known, MASK));
}

/** The beginning of a text. Masked before it is cut: a secret that was cut has no longer the shape by which it is known. */
export function maskBeginning(text: string, chars: number, mask: Mask = maskText): string {
  return mask(text.slice(0, chars + OVERLAP_CHARS)).slice(0, chars);
}

/** More than a secret has. */
const OVERLAP_CHARS = 4096;

export function maskText(text: string): string {
  let masked = text;
  if (SHAPED.test(masked)) for (const shape of SHAPES) masked = masked.replace(shape, MASK);
  if (ANNOUNCING.test(masked))
    for (const announced of ANNOUNCED) masked = masked.replace(announced, `$1${MASK}`);
  return PROGRAM.test(masked) ? masked.replace(COMMAND, maskOptions) : masked;
}

/** After the name of the program: what stands before is another one's. */
function maskOptions(command: string): string {
  let masked = command;
  for (const { programs, options } of OPTIONS) {
    const at = masked.search(programs);
    if (at === -1) continue;
    const begin = masked.slice(0, at);
    let rest = masked.slice(at);
    for (const option of options) rest = rest.replace(option, `$1${MASK}`);
    masked = begin + rest;
  }
  return masked;
}

/** A copy of an environment that can be shown. */
export function maskEnvironment(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, isMaskedName(name) ? MASK : maskText(value)]),
  );
}
