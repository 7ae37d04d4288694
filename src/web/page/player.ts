/**
 * Plays a recording: output is drawn when its time has come, and a jump draws everything up to there at once. A recording
 * is loaded in pieces, and played back from its beginning to go backwards, so that its length needs no memory.
 */
import type { RecordedEvent, RecordingAnswer } from '../wire.ts';

export interface PlayerState {
  readonly positionMs: number;
  readonly isPlaying: boolean;
  readonly isSeeking: boolean;
}

export type Player = ReturnType<typeof createPlayer>;

export interface PlayerOptions {
  readonly durationMs: number;
  load(offset: number): Promise<Pick<RecordingAnswer, 'events' | 'nextOffset'>>;
  /** Draws what one event says, and resolves when it is drawn. */
  draw(event: RecordedEvent): Promise<void>;
  /** Empties the screen, and gives it the size of the beginning. */
  clear(): void;
  onState(state: PlayerState): void;
  onError(error: unknown): void;
  /** Resolves with the time, in milliseconds, when it is time to draw again. */
  nextFrame(): Promise<number>;
}

const LONG_PAUSE_MS = 2000;
/** A page that is hidden gets no frames; it goes on where it was. */
const LONGEST_FRAME_MS = 1000;

type Playing = ReturnType<typeof createState>;

/** A player from within. */
const createState = (options: PlayerOptions) => ({
  options,
  track: createTrack(options.load),
  positionMs: 0,
  isPlaying: false,
  isSeeking: false,
  speed: 1,
  isSkipping: true,
  goalMs: 0,
  /** Another one ends what is under way. */
  turn: 0,
});

export function createPlayer(options: PlayerOptions) {
  const { durationMs } = options;
  const state = createState(options);
  let last = Promise.resolve();

  /** One at a time: the one before ends with the event that it draws. */
  function begin(work: (own: number) => Promise<void>): void {
    state.turn++;
    const own = state.turn;
    last = last.then(async () => {
      try {
        if (own === state.turn) await work(own);
      } catch (error) {
        state.isPlaying = false;
        state.isSeeking = false;
        report(state);
        options.onError(error);
      }
    });
  }

  function seek(targetMs: number): void {
    const goal = Math.min(Math.max(0, targetMs), durationMs);
    state.goalMs = goal;
    state.isSeeking = true;
    begin(async (own) => {
      await jump(state, goal, own);
      if (state.isPlaying) await run(state, own);
    });
    report(state);
  }

  return {
    seek,
    play(): void {
      if (state.isPlaying) return;
      state.isPlaying = true;
      if (state.isSeeking) return seek(state.goalMs);
      if (state.positionMs >= durationMs) return seek(0);
      begin((own) => run(state, own));
      report(state);
    },
    pause(): void {
      state.isPlaying = false;
      report(state);
    },
    setSpeed: (speed: number): void => void Object.assign(state, { speed }),
    /** Whether a longer pause lasts no more than two seconds. */
    setSkipping: (isSkipping: boolean): void => void Object.assign(state, { isSkipping }),
    dispose(): void {
      state.isPlaying = false;
      state.turn++;
    },
  };
}

function report({ options, positionMs, goalMs, isPlaying, isSeeking }: Playing): void {
  options.onState({ positionMs: isSeeking ? goalMs : positionMs, isPlaying, isSeeking });
}

/** Draws what happened until then; returns the event that comes next. */
async function advance(state: Playing, untilMs: number, own: number): Promise<RecordedEvent | undefined> {
  for (;;) {
    const event = await state.track.peek();
    if (own !== state.turn || event === undefined || event[0] > untilMs) return event;
    state.track.skip();
    state.positionMs = Math.max(state.positionMs, event[0]);
    await state.options.draw(event);
  }
}

async function run(state: Playing, own: number): Promise<void> {
  const { durationMs, nextFrame } = state.options;
  let before = await nextFrame();
  while (state.isPlaying && own === state.turn) {
    const now = await nextFrame();
    const passed = Math.min(now - before, LONGEST_FRAME_MS) * state.speed;
    const next = await state.track.peek();
    const pauseEnd = state.isSkipping && next !== undefined ? next[0] - LONG_PAUSE_MS : 0;
    const target = Math.max(state.positionMs + passed, pauseEnd);
    const after = await advance(state, target, own);
    if (own !== state.turn) return;
    state.positionMs = after === undefined ? durationMs : Math.min(target, durationMs);
    if (after === undefined) state.isPlaying = false;
    report(state);
    before = now;
  }
}

async function jump(state: Playing, targetMs: number, own: number): Promise<void> {
  if (targetMs < state.positionMs) {
    state.options.clear();
    state.track.rewind();
    state.positionMs = 0;
  }
  await advance(state, targetMs, own);
  if (own !== state.turn) return;
  state.positionMs = targetMs;
  state.isSeeking = false;
  report(state);
}

/** The events of a recording, one after the other. */
function createTrack(load: PlayerOptions['load']) {
  let events: readonly RecordedEvent[] = [];
  let at = 0;
  let nextOffset: number | undefined = 0;
  return {
    async peek(): Promise<RecordedEvent | undefined> {
      while (at >= events.length && nextOffset !== undefined) {
        const piece = await load(nextOffset);
        events = piece.events;
        at = 0;
        nextOffset = piece.nextOffset;
      }
      return events[at];
    },
    skip(): void {
      at++;
    },
    rewind(): void {
      events = [];
      at = 0;
      nextOffset = 0;
    },
  };
}
