/**
 * What a bundle owes to those whose code is in it: the name, version and licence text of every package that esbuild
 * took a file from, and the notices that stand in their sources.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Files that hold a licence or what it asks to be passed on. */
const TEXTS = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i;

/** `inputs` are the keys of esbuild's metafile; `notices` the texts of its own *.LEGAL.txt. */
export function renderLegal(root, inputs, notices) {
  const packages = bundledPackages(root, inputs);
  const parts = packages.map(({ name, version, license, texts }) =>
    [`${name} ${version} (${license})`, ...texts].join('\n\n'),
  );
  const found = [...new Set(notices.map((text) => text.trim()))].sort(byText);
  const rest = found.length === 0 ? [] : [`Notices in their sources\n\n${found.join('\n\n')}`];
  const line = `\n\n${'-'.repeat(80)}\n\n`;
  return `mcp-shell-server contains these packages:\n\n${[...parts, ...rest].join(line)}\n`;
}

function bundledPackages(root, inputs) {
  const directories = new Set(inputs.map((path) => directoryOf(path)).filter((path) => path !== undefined));
  return [...directories].sort(byText).map((directory) => readPackage(join(root, directory)));
}

/** `node_modules/a/node_modules/@b/c/lib/x.js` is of `node_modules/a/node_modules/@b/c`. */
function directoryOf(path) {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];
}

function readPackage(directory) {
  const { name, version, license, author, repository } = JSON.parse(
    readFileSync(join(directory, 'package.json'), 'utf8'),
  );
  if (typeof license !== 'string') throw new Error(`${directory} names no licence, and must not be bundled`);
  const texts = readdirSync(directory)
    .filter((file) => TEXTS.test(file))
    .sort(byText)
    .map((file) => readFileSync(join(directory, file), 'utf8').trim());
  if (texts.length === 0) {
    const who = author?.name ?? author ?? 'its authors';
    texts.push(
      `By ${who}, ${repository?.url ?? repository}. The package comes without a text of its licence.`,
    );
  }
  return { name, version, license, texts };
}

const byText = (a, b) => (a < b ? -1 : 1);
