/** The version of package.json; esbuild and vitest put it in. */
declare const __VERSION__: string;
