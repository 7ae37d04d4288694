/**
 * The list of what runs and ran, as a stream of changes for every page that is open. The state directory is looked at
 * once a second for all of them together, and not at all while there are none.
 */
import type { PageQuestions } from './page-questions.ts';
import type { Watched } from './watched.ts';
import type { ListEvent, Row } from './wire.ts';

export type Feed = ReturnType<typeof createFeed>;

const LOOK_MS = 1000;
/** Of those that ended; older ones are for the audit log. */
const MAX_ENDED = 300;

export function createFeed(
  watched: Pick<Watched, 'look'>,
  questions: Pick<PageQuestions, 'list'>,
  onError: (error: unknown) => void,
) {
  const subscribers = new Map<(event: ListEvent) => void, { hasAll: boolean }>();
  let known = new Map<string, string>();
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;
  let isStale = false;

  async function look(): Promise<void> {
    const { servers, rows } = await watched.look();
    const shown = pick(rows);
    const texts = new Map(shown.map((row) => [row.id, JSON.stringify(row)]));
    const about = { servers, older: rows.length - shown.length, nowMs: Date.now(), ...questions.list() };
    const changed = shown.filter(({ id }) => known.get(id) !== texts.get(id));
    const gone = [...known.keys()].filter((id) => !texts.has(id));
    known = texts;
    for (const [send, state] of subscribers) {
      send(
        state.hasAll
          ? { ...about, isWhole: false, rows: changed, gone }
          : { ...about, isWhole: true, rows: shown, gone: [] },
      );
      state.hasAll = true;
    }
  }

  /** Something has just changed. */
  function refresh(): void {
    if (looking !== undefined) {
      isStale = true;
      return;
    }
    clearTimeout(timer);
    isStale = false;
    looking = look()
      .catch(onError)
      .finally(() => {
        looking = undefined;
        if (subscribers.size === 0) return;
        timer = setTimeout(refresh, isStale ? 0 : LOOK_MS).unref();
      });
  }

  return {
    /** Sends the whole list first. Returns what ends it. */
    subscribe(send: (event: ListEvent) => void): () => void {
      subscribers.set(send, { hasAll: false });
      refresh();
      return () => {
        subscribers.delete(send);
        if (subscribers.size === 0) clearTimeout(timer);
      };
    },
    refresh,
    dispose(): void {
      subscribers.clear();
      clearTimeout(timer);
    },
  };
}

/** All that run, and the newest that ended; newest first. */
function pick(rows: readonly Row[]): Row[] {
  let ended = 0;
  return rows.filter(({ canEnd }) => canEnd || ended++ < MAX_ENDED);
}
