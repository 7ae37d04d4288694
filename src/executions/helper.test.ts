import { once } from 'node:events';
import { expect, test } from 'vitest';
import { startHelper } from './helper.ts';

test.each(['stdout', 'stderr'] as const)('a broken pipe of its %s does not end the server', async (name) => {
  const child = startHelper({ argv: ['/bin/sh', '-c', 'exit 3'] });
  child[name]?.destroy(new Error('read ECONNRESET'));
  const [code] = await once(child, 'close');
  expect(code).toBe(3);
});
