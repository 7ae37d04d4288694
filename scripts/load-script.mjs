/**
 * The text of dist/cli.js and the other programs: loads chunks as scripts, each with its code cache where there is one for
 * this very Node. V8 rejects a cache of another version or other flags, and compiles; one that is damaged it would obey.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';

// The young generation would grow to three times 16 MiB and stay there.
setFlagsFromString('--semi-space-growth-factor=1');
// A server runs a lot of code once for each call. What is compiled to the last, on other threads, takes longer to compile
// than it saves in thousands of calls, and they never give back what they had for it. From V8 12 on there is a compiler
// between that and the simple one.
if (IS_SERVER && Number.parseInt(process.versions.v8, 10) < 12)
  setFlagsFromString('--interrupt-budget=50000000');

const require = createRequire(import.meta.url);
const directory = fileURLToPath(new URL('.', import.meta.url));
const caches = `${directory}code-cache/${process.version}-${process.platform}-${process.arch}/`;
const loaded = new Map();
let hasCaches = true;

function cacheOf(name) {
  try {
    if (!hasCaches) return undefined;
    const bytes = readFileSync(`${caches}${name}.bin`);
    // Its last bytes are the hash of the others.
    const data = bytes.subarray(0, -20);
    return bytes.subarray(-20).toString('hex') === hash('sha1', data) ? data : undefined;
  } catch {
    // It is the entry's that is looked for first.
    hasCaches = loaded.size > 0;
    return undefined;
  }
}

/** Entries name chunks by their directory, chunks each other without. */
function load(path) {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (loaded.has(name)) return loaded.get(name);
  const filename = `${directory}chunks/${name}`;
  const cachedData = cacheOf(name);
  const script = new Script(readFileSync(filename, 'utf8'), { filename, cachedData });
  const exports = script.runInThisContext()(require, load, loadLater, import.meta);
  loaded.set(name, exports);
  return exports;
}

/** A chunk, or one of Node's own modules. */
async function loadLater(path) {
  return path.startsWith('.') ? load(path) : require(path);
}

await load(ENTRY);
