/** Programs whose work is to write: where a list must not let anything be written, they are not let through. */
import { list } from '../list.ts';

/** Every operand is written, removed or changed. */
const EVERY = list(
  'tee touch mkdir rmdir rm unlink truncate shred mkfifo mknod mv ln patch sponge chmod chown chgrp setfacl gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd compress zip unzip split csplit',
);

/** The last operand is, unless an option names the directory. */
const LAST = list('cp install rsync scp');

/** What follows `of=` is. */
const ASSIGNED = ['dd'];

export const WRITERS: ReadonlyMap<string, 'every' | 'last' | 'assigned'> = new Map([
  ...EVERY.map((name) => [name, 'every'] as const),
  ...LAST.map((name) => [name, 'last'] as const),
  ...ASSIGNED.map((name) => [name, 'assigned'] as const),
]);
