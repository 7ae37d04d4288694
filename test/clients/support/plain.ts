/** The same script over a client without opinions: what the server writes. */
import { createPlace, startProduct } from '../../e2e/support/product.ts';
import type { Step } from './model.ts';

/** By the names of the steps. */
export async function playPlainly(steps: Readonly<Record<string, Step>>): Promise<Record<string, string>> {
  const place = createPlace();
  const product = await startProduct({ place });
  const texts: Record<string, string> = {};
  try {
    for (const [name, { tool, args }] of Object.entries(steps)) {
      const given = typeof args === 'function' ? args(Object.values(texts)) : args;
      texts[name] = (await product.call(tool, { ...given })).text;
    }
    return texts;
  } finally {
    await product.close();
    place.remove();
  }
}

/** Without ids, times, places and numbers of processes, which differ from run to run. */
export const comparable = (text: string): string =>
  text
    .replaceAll(/\b(exec|out|term)_[a-z0-9]+/g, '$1_ID')
    .replaceAll(/product-\w+/g, 'PLACE')
    .replaceAll(/\b(pid|process) \d+/g, '$1 N')
    .replaceAll(/\b\d[\d.]* m?s\b/g, 'TIME')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME');
