/** What a caller can wait for, and how a look at one condition of one execution turns out. */
import type { Pattern } from '../../base/pattern.ts';
import type { Bundle } from '../../outputs/types.ts';
import type { UrlTarget } from '../../security/security.ts';
import type { Live } from '../live.ts';
import type { ExecutionRecord } from '../record.ts';

/** An execution, as it is now. */
export interface Watched {
  readonly record: ExecutionRecord;
  readonly bundle: Bundle;
  readonly live: Live | undefined;
}

export type Condition =
  | { readonly kind: 'exit' }
  | { readonly kind: 'output'; readonly pattern: Pattern; readonly source: string }
  | { readonly kind: 'quiet'; readonly ms: number }
  | { readonly kind: 'port'; readonly port: number }
  | { readonly kind: 'url'; readonly target: UrlTarget }
  | { readonly kind: 'file'; readonly path: string };

export type Sighting =
  | { readonly kind: 'met'; readonly line?: string | undefined }
  /** It can no longer come true. */
  | { readonly kind: 'never'; readonly why: string };

export interface Watcher {
  /** Undefined: not yet. `hasEnded`: this is the last look, for there is no process any more. */
  look(hasEnded: boolean): Sighting | undefined | Promise<Sighting | undefined>;
  /** Something was printed. */
  touch?(): void;
  dispose?(): void;
}
