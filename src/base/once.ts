/** The function, which is only run the first time; later calls get what it returned then. */
export function once<T>(run: () => T): () => T {
  let done: { readonly value: T } | undefined;
  return () => {
    done ??= { value: run() };
    return done.value;
  };
}

/** The same for each object that it is given: for what is derived from one that never changes. */
export function oncePer<Given extends object, T>(run: (given: Given) => T): (given: Given) => T {
  const done = new WeakMap<Given, { readonly value: T }>();
  return (given) => {
    let found = done.get(given);
    if (found === undefined) done.set(given, (found = { value: run(given) }));
    return found.value;
  };
}
