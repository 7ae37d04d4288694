import { expect, test } from 'vitest';
import { compare } from '../../../test/fuzz/compare.ts';
import { canRunOracle } from '../../../test/fuzz/oracle.ts';
import { lacks } from '../../../test/setup/needs.ts';

/** `npm run test:stress` goes on for longer, with other seeds. */
const SCRIPTS = 300;

test.skipIf(lacks(!canRunOracle(), 'bubblewrap does not work here'))(
  'bash runs nothing that was not found',
  async () => {
    const outcome = await compare(20_260_728, SCRIPTS);
    expect(outcome.missed).toEqual([]);
    // If bash ran little, the comparison says little.
    expect(outcome.ran).toBeGreaterThan(SCRIPTS);
  },
  60_000,
);
