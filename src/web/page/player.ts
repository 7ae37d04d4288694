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

export interface Player {
  play(): void;
  pause(): void;
  seek(positionMs: number): void;
  setSpeed(speed: number): void;
  /** Whether a longer pause lasts no more than two seconds. */
  setSkipping(isOn: boolean): void;
  dispose(): void;
}

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

export function createPlayer(options: PlayerOptions): Player {
  const { durationMs } = options;
  let events: readonly RecordedEvent[] = [];
  let at = 0;
  let nextOffset: number | undefined = 0;
  let positionMs = 0;
  let isPlaying = false;
  let isSeeking = false;
  let speed = 1;
  let isSkipping = true;
  let goalMs = 0;
  /** Another one ends what is under way. */
  let turn = 0;
  let last = Promise.resolve();

  const report = (): void =>
    options.onState({ positionMs: isSeeking ? goalMs : positionMs, isPlaying, isSeeking });

  async function peek(): Promise<RecordedEvent | undefined> {
    while (at >= events.length && nextOffset !== undefined) {
      const piece = await options.load(nextOffset);
      events = piece.events;
      at = 0;
      nextOffset = piece.nextOffset;
    }
    return events[at];
  }

  /** Draws what happened until then; returns the event that comes next. */
  async function advance(untilMs: number, own: number): Promise<RecordedEvent | undefined> {
    for (;;) {
      const event = await peek();
      if (own !== turn || event === undefined || event[0] > untilMs) return event;
      at++;
      positionMs = Math.max(positionMs, event[0]);
      await options.draw(event);
    }
  }

  async function run(own: number): Promise<void> {
    let before = await options.nextFrame();
    while (isPlaying && own === turn) {
      const now = await options.nextFrame();
      const passed = Math.min(now - before, LONGEST_FRAME_MS) * speed;
      const next = await peek();
      const pauseEnd = isSkipping && next !== undefined ? next[0] - LONG_PAUSE_MS : 0;
      const target = Math.max(positionMs + passed, pauseEnd);
      const after = await advance(target, own);
      if (own !== turn) return;
      positionMs = Math.min(target, durationMs);
      if (after === undefined) {
        positionMs = durationMs;
        isPlaying = false;
      }
      report();
      before = now;
    }
  }

  async function jump(targetMs: number, own: number): Promise<void> {
    if (targetMs < positionMs) {
      options.clear();
      events = [];
      at = 0;
      nextOffset = 0;
      positionMs = 0;
    }
    await advance(targetMs, own);
    if (own !== turn) return;
    positionMs = targetMs;
    isSeeking = false;
    report();
  }

  /** One at a time: the one before ends with the event that it draws. */
  function begin(work: (own: number) => Promise<void>): void {
    turn++;
    const own = turn;
    last = last.then(async () => {
      try {
        if (own === turn) await work(own);
      } catch (error) {
        isPlaying = false;
        isSeeking = false;
        report();
        options.onError(error);
      }
    });
  }

  function seek(targetMs: number): void {
    goalMs = Math.min(Math.max(0, targetMs), durationMs);
    isSeeking = true;
    const goal = goalMs;
    begin(async (own) => {
      await jump(goal, own);
      if (isPlaying) await run(own);
    });
    report();
  }

  return {
    seek,
    play() {
      if (isPlaying) return;
      isPlaying = true;
      if (isSeeking) seek(goalMs);
      else if (positionMs >= durationMs) seek(0);
      else {
        begin(run);
        report();
      }
    },
    pause() {
      isPlaying = false;
      report();
    },
    setSpeed(next) {
      speed = next;
    },
    setSkipping(isOn) {
      isSkipping = isOn;
    },
    dispose() {
      isPlaying = false;
      turn++;
    },
  };
}
