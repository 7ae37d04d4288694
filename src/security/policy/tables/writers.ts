/** Programs whose work is to write: where a list must not let anything be written, they are not let through. */
import { byName } from '../../list.ts';

/** `every` operand is written, removed or changed; the `last` one, unless an option names the directory; what follows `of=`. */
export const WRITERS: Readonly<Record<string, 'every' | 'last' | 'assigned'>> = byName({
  [`
    tee touch mkdir rmdir rm unlink truncate shred mkfifo mknod mv ln patch sponge chmod chown chgrp setfacl gzip gunzip
    bzip2 bunzip2 xz unxz zstd unzstd compress zip unzip split csplit
  `]: 'every',
  'cp install rsync scp': 'last',
  dd: 'assigned',
});
