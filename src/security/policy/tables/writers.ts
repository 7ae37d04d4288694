/** Programs whose work is to write: where a list must not let anything be written, they are not let through. */
import { byName, setOf } from '../../list.ts';

/** `every` operand is written, removed or changed; the `last` one, unless an option names the directory; what follows `of=`. */
export const WRITERS: Readonly<Record<string, 'every' | 'last' | 'assigned'>> = byName({
  [`
    tee touch mkdir rmdir rm unlink truncate shred mkfifo mknod mv ln patch sponge chmod chown chgrp setfacl gzip gunzip
    bzip2 bunzip2 xz unxz zstd unzstd compress zip unzip split csplit
  `]: 'every',
  'cp install rsync scp': 'last',
  dd: 'assigned',
});

/** Subcommands of git that write files, objects or references, */
export const GIT_WRITERS = setOf(`
  add am apply bugreport bundle checkout checkout-index cherry-pick clean clone commit commit-tree diagnose fast-import fetch
  format-patch gc index-pack init merge mv pack-objects pack-refs prune pull read-tree rebase repack replace reset restore
  revert rm sparse-checkout stash switch unpack-objects update-index update-ref worktree write-tree
`);
/** unless they are asked for what there is. */
export const GIT_READS = setOf('list show verify list-heads');
