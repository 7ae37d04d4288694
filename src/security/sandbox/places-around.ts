/** A command can make any number of what is mounted one by one. Where there is too much, the directories around it stand for it. */
import { dirname } from 'node:path';

/** At most so many: the deepest are replaced first. None is replaced by what is around one of `tops`. */
export function placesAround(paths: readonly string[], most: number, tops: readonly string[] = []): string[] {
  if (paths.length <= most) return [...paths];
  const byDepth = new Map<number, Set<string>>();
  const put = (path: string, depth: number): void => {
    byDepth.set(depth, (byDepth.get(depth) ?? new Set()).add(path));
  };
  for (const path of paths) put(path, path.split('/').length);
  const count = (): number => [...byDepth.values()].reduce((sum, { size }) => sum + size, 0);
  const last = new Set(tops);
  for (let depth = Math.max(...byDepth.keys()); depth > 2 && count() > most; depth--) {
    const deepest = byDepth.get(depth) ?? new Set();
    byDepth.set(depth, new Set([...deepest].filter((path) => last.has(path))));
    for (const path of deepest) if (!last.has(path)) put(dirname(path), depth - 1);
  }
  return [...byDepth.values()].flatMap((places) => [...places]);
}
