/** The function, which is only run the first time; later calls get what it returned then. */
export function once<T>(run: () => T): () => T {
  let done: { readonly value: T } | undefined;
  return () => {
    done ??= { value: run() };
    return done.value;
  };
}
