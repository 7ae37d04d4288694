/** JUnit XML, read without a parser of XML: attributes of tags whose names are known. */
import { cutText, type FailedTest, placeIn, type TestResults } from './results.ts';

/** A tag with longer attributes is none. */
const MAX_TAG_CHARS = 20_000;
/** Places are looked for at the end of a line. */
const MAX_LINE_CHARS = 1000;
const ENTITIES: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
  '#10': '\n',
};

export function parseJunit(text: string): TestResults | undefined {
  if (!/<testsuites?[\s>]/.test(text)) return undefined;
  const cases = text.split('<testcase').slice(1);
  const failures: FailedTest[] = [];
  let skipped = 0;
  for (const one of cases) {
    const end = tagEnd(one);
    if (end === -1) continue;
    const body = one[end - 1] === '/' ? '' : one.slice(end + 1);
    const problem = /<(?:failure|error)[\s/>]/.exec(body);
    if (problem !== null)
      failures.push(failureOf(attributesOf(one.slice(0, end)), body.slice(problem.index)));
    else if (/<skipped[\s/>]/.test(body)) skipped++;
  }
  const failed = failures.length;
  return { kind: 'tests', tool: 'junit', passed: cases.length - failed - skipped, failed, skipped, failures };
}

function failureOf(test: ReadonlyMap<string, string>, problem: string): FailedTest {
  const end = tagEnd(problem);
  const message = end === -1 ? undefined : attributesOf(problem.slice(0, end)).get('message');
  const lines = decode(problem.slice(end + 1, problem.indexOf('</'))).split('\n');
  const place = lines
    .map((line) => placeIn(line.slice(-MAX_LINE_CHARS).replace(/: \w+$/, '')))
    .findLast((one) => one !== undefined);
  const className = test.get('classname');
  return {
    name: cutText(test.get('name') ?? ''),
    file: test.get('file') ?? place?.file ?? className,
    line: place?.line,
    message: cutText((message ?? lines.find((line) => line.trim() !== '') ?? '').split('\n')[0] ?? ''),
  };
}

/** The place of the `>` that closes a tag: in quotes it closes nothing. */
function tagEnd(text: string): number {
  let quote = '';
  for (let at = 0; at < Math.min(text.length, MAX_TAG_CHARS); at++) {
    const character = text[at] ?? '';
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '>') return at;
  }
  return -1;
}

function attributesOf(tag: string): Map<string, string> {
  return new Map(
    [...tag.matchAll(/([\w:.-]{1,100})="([^"]*)"/g)].map(([, name = '', value = '']) => [
      name,
      decode(value),
    ]),
  );
}

const decode = (text: string): string =>
  text.replace(/&(lt|gt|amp|quot|apos|#10);/g, (_, name: string) => ENTITIES[name] ?? '');
