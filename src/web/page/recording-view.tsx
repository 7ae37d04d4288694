/** The recording of a terminal that has ended, played on a time line. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { RecordedEvent, RecordingAnswer } from '../wire.ts';
import { request } from './api.ts';
import { wordsOf } from './asking.ts';
import { showSpan } from './format.ts';
import { download, StreamChoice } from './output-view.tsx';
import { createPlayer, type Player, type PlayerState } from './player.ts';
import type { Screen } from './xterm-screen.ts';

/** Its stream. */
export const RECORDING = 'cast';

const SPEEDS = [0.5, 1, 2, 4, 8, 16];
const STEP_MS = 5000;

interface RecordingProps {
  readonly id: string;
  readonly streams: readonly string[];
  onStream(name: string): void;
}

export function RecordingView({ id, streams, onStream }: RecordingProps): JSX.Element {
  const element = useRef<HTMLDivElement>(null);
  const [opened, setOpened] = useState<Opened | undefined>(undefined);
  const [state, setState] = useState<PlayerState>(STOPPED);
  const [failure, setFailure] = useState('');
  useEffect(() => {
    const leaving = new AbortController();
    const onError = (error: unknown): void => {
      if (!leaving.signal.aborted) setFailure(wordsOf(error));
    };
    if (element.current !== null)
      openRecording(id, element.current, { onState: setState, onError, signal: leaving.signal }).then(
        setOpened,
        onError,
      );
    return () => leaving.abort();
  }, [id]);
  return (
    <div
      class="terminal-view"
      onKeyDownCapture={(event) => opened !== undefined && onKey(event, opened, state)}
    >
      <div class="output-bar">
        <StreamChoice streams={streams} stream={RECORDING} onStream={onStream} />
        <span class="bar-fill" />
        <button type="button" onClick={() => void download(id, RECORDING)}>
          Download
        </button>
      </div>
      {opened !== undefined && <Controls opened={opened} state={state} />}
      {failure !== '' && (
        <p class="quiet no-output" role="alert">
          {failure}
        </p>
      )}
      <div ref={element} class="terminal-screen" role="region" aria-label="Recording" />
    </div>
  );
}

const STOPPED: PlayerState = { positionMs: 0, isPlaying: false, isSeeking: false };

type Opened = Awaited<ReturnType<typeof openRecording>>;

function Controls({ opened, state }: { opened: Opened; state: PlayerState }): JSX.Element {
  const { player, durationMs } = opened;
  const [isSkipping, setSkipping] = useState(true);
  const time = `${showSpan(state.positionMs)} of ${showSpan(durationMs)}`;
  return (
    <div class="output-bar player" role="group" aria-label="Player">
      <button type="button" class="play" onClick={() => toggle(player, state)}>
        {state.isPlaying ? 'Pause' : 'Play'}
      </button>
      <input
        type="range"
        aria-label="Time line"
        aria-valuetext={time}
        min={0}
        max={Math.max(1, durationMs)}
        step="any"
        value={state.positionMs}
        onInput={(event) => player.seek(Number(event.currentTarget.value))}
      />
      <span class="quiet size">{state.isSeeking ? `Seeking… ${time}` : time}</span>
      <label>
        <span class="quiet">Speed</span>{' '}
        <select onChange={(event) => player.setSpeed(Number(event.currentTarget.value))}>
          {SPEEDS.map((speed) => (
            <option key={speed} value={speed} selected={speed === 1}>
              {speed}×
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        aria-pressed={isSkipping}
        title="Pauses of more than two seconds are shortened"
        onClick={() => {
          setSkipping(!isSkipping);
          player.setSkipping(!isSkipping);
        }}
      >
        Skip pauses
      </button>
    </div>
  );
}

function toggle(player: Player, { isPlaying }: PlayerState): void {
  if (isPlaying) player.pause();
  else player.play();
}

/** Before the emulator sees them, which takes every key that it has the focus for. */
function onKey(event: KeyboardEvent, { player, durationMs }: Opened, state: PlayerState): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target as HTMLElement;
  if (target.matches('select') || (event.key === ' ' && target.matches('button'))) return;
  const jumps: Readonly<Record<string, number>> = {
    ArrowLeft: state.positionMs - STEP_MS,
    ArrowRight: state.positionMs + STEP_MS,
    Home: 0,
    End: durationMs,
  };
  const goal = jumps[event.key];
  if (event.key === ' ') toggle(player, state);
  else if (goal !== undefined) player.seek(goal);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

interface Listeners {
  onState(state: PlayerState): void;
  onError(error: unknown): void;
  readonly signal: AbortSignal;
}

async function openRecording(id: string, element: HTMLElement, listeners: Listeners) {
  const { signal } = listeners;
  const load = (offset: number): Promise<RecordingAnswer> =>
    request<RecordingAnswer>(`api/executions/${id}/recording?offset=${offset}`, undefined, signal);
  const [first, { createScreen }] = await Promise.all([load(0), import('./xterm-screen.ts')]);
  const { columns, rows, durationMs } = first;
  signal.throwIfAborted();
  const screen = createScreen(element, { columns, rows, onTyped: () => undefined });
  const player = createPlayer({
    ...listeners,
    durationMs,
    load: async (offset) => (offset === 0 ? first : load(offset)),
    draw: (event) => drawOn(screen, event),
    clear() {
      screen.reset();
      screen.resize(columns, rows);
    },
    nextFrame: () => new Promise((resolve) => requestAnimationFrame(resolve)),
  });
  signal.addEventListener('abort', () => {
    player.dispose();
    screen.dispose();
  });
  return { player, durationMs };
}

async function drawOn(screen: Screen, [, kind, text]: RecordedEvent): Promise<void> {
  if (kind === 'o') return screen.write(text);
  if (kind === 'm') return screen.write(`\r\n\u001b[2m[${text}]\u001b[22m\r\n`);
  const [columns = 80, rows = 24] = text.split('x').map(Number);
  screen.resize(columns, rows);
}
