/** Makes the code caches of a `dist/` for the Node that runs this. */
export function makeCodeCaches(dist: string): Promise<void>;
