/** Required before a program of dist/: leaves the code cache of each chunk that it has loaded, when it ends. */
const childProcess = require('node:child_process');
const { createHash } = require('node:crypto');
const { mkdirSync, renameSync, writeFileSync } = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');
const { basename, dirname, join } = require('node:path');
const v8 = require('node:v8');
const vm = require('node:vm');

const KEPT = ['--expose-gc', '--semi-space-growth-factor=1', '--interrupt-budget=50000000'];
const scripts = new Map();
const { Script } = vm;
const { setFlagsFromString } = v8;
const { spawn } = childProcess;

vm.Script = class extends Script {
  constructor(text, options) {
    super(text, { ...options, cachedData: undefined });
    scripts.set(options.filename, this);
  }
};
// A cache is good for the flags with which it was made. A server sets its own after it has loaded what it needs, and
// does not do without this one.
v8.setFlagsFromString = (flag) => {
  if (KEPT.includes(flag)) setFlagsFromString(flag);
};
// So that the programs which it starts are recorded as well.
childProcess.spawn = (file, args, ...rest) =>
  spawn(file, file === process.execPath ? ['--require', __filename, ...args] : args, ...rest);
syncBuiltinESMExports();

process.on('exit', () => {
  setFlagsFromString('--no-expose-gc');
  const version = `${process.version}-${process.platform}-${process.arch}`;
  for (const [filename, script] of scripts) {
    const directory = join(dirname(dirname(filename)), 'code-cache', version);
    mkdirSync(directory, { recursive: true });
    const path = join(directory, `${basename(filename)}.bin`);
    const data = script.createCachedData();
    writeFileSync(`${path}.new`, Buffer.concat([data, createHash('sha1').update(data).digest()]));
    renameSync(`${path}.new`, path);
  }
});
