/** Links between the documents lead somewhere: to a file that is there, and to a heading of it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './support/root.ts';

const documents = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

test.each(documents)('%s', (document) => {
  const problems = linksOf(read(document)).flatMap((link) => {
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? document : relative(ROOT, join(ROOT, dirname(document), path));
    if (!existsSync(join(ROOT, target))) return [`${link}: there is no ${target}`];
    if (anchor === undefined || headingsOf(read(target)).includes(anchor)) return [];
    return [`${link}: ${target} has no such heading`];
  });
  expect(problems).toEqual([]);
});

test.each([
  ['README.md', 200],
  ['ARCHITECTURE.md', 250],
] as const)('%s has at most %d lines', (document, most) => {
  expect(read(document).trimEnd().split('\n').length).toBeLessThanOrEqual(most);
});

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Those to other places are not followed. */
function linksOf(text: string): string[] {
  return [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link));
}

/** As GitHub names them. */
function headingsOf(text: string): string[] {
  return [...withoutCode(text).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```/gm, '');
}
