/** A path that is compared before and after a command. */

/** A path, and where it led: undefined where there was nothing. */
export interface WatchedPath {
  readonly path: string;
  readonly link: string | undefined;
  /** The nearest directory that was there: as long as it has not changed, neither has this. */
  readonly around?: Around | undefined;
  /** Of a directory: entries with such names that were not there. */
  readonly among?: { readonly pattern: string; readonly known: readonly string[] };
  /**
   * What is looked for there instead: whether it has become a git directory itself, or which other repositories than
   * these its index names.
   */
  readonly repository?: 'itself' | readonly string[] | undefined;
}

export interface Around {
  readonly path: string;
  readonly stamp: string;
}
