import { expect, test } from 'vitest';
import { compare } from '../fuzz/compare.ts';
import { canRunOracle } from '../fuzz/oracle.ts';
import { lacks } from '../setup/needs.ts';

/** About a minute. Counted and not timed, so that every machine tries the same. */
const SEEDS = 20;
const SCRIPTS = 500;

test.skipIf(lacks(!canRunOracle(), 'bubblewrap does not work here'))(
  `of ${SEEDS * SCRIPTS} texts bash runs nothing that was not found`,
  async () => {
    const missed: string[] = [];
    // Seeds follow each other, so that a failure names the one to run again.
    for (let seed = 1; seed <= SEEDS; seed++) {
      const outcome = await compare(seed, SCRIPTS);
      missed.push(...outcome.missed.map((text) => `seed ${seed}: ${text}`));
    }
    expect(missed).toEqual([]);
  },
);
