/**
 * Disposal in reverse order: what was opened last is closed first, and one failure does not keep the rest open.
 */
export type Disposables = ReturnType<typeof createDisposables>;

export function createDisposables(onError: (name: string, error: unknown) => void) {
  const entries: { name: string; dispose: () => void | Promise<void> }[] = [];
  let disposing: Promise<void> | undefined;

  async function disposeAll(): Promise<void> {
    for (let entry = entries.pop(); entry !== undefined; entry = entries.pop()) {
      try {
        await entry.dispose();
      } catch (error) {
        onError(entry.name, error);
      }
    }
  }

  return {
    add: (name: string, dispose: () => void | Promise<void>) => void entries.push({ name, dispose }),
    dispose: () => (disposing ??= disposeAll()),
  };
}
