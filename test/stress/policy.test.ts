import { expect, test } from 'vitest';
import { compare } from '../fuzz/compare.ts';
import { canRunOracle } from '../fuzz/oracle.ts';
import { lacks } from '../setup/needs.ts';

const DURATION_MS = 60_000;

test.skipIf(lacks(!canRunOracle(), 'bubblewrap does not work here'))(
  'for a minute bash runs nothing that was not found',
  async () => {
    const endMs = Date.now() + DURATION_MS;
    const missed: string[] = [];
    // Seeds follow each other, so that a failure names the one to run again.
    for (let seed = 1; Date.now() < endMs; seed++) {
      const outcome = await compare(seed, 500);
      missed.push(...outcome.missed.map((text) => `seed ${seed}: ${text}`));
    }
    expect(missed).toEqual([]);
  },
);
