/**
 * Output by lines, of which only those are fetched and drawn that the window shows: an output may have millions. What is
 * taller than a browser can scroll is scrolled in proportion.
 */
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { SearchAnswer } from '../wire.ts';
import { request } from './api.ts';
import { act, wordsOf } from './asking.ts';
import { grouped, showBytes } from './format.ts';
import { createLines, type Lines } from './output-lines.ts';
import { paintLine, visible } from './text.ts';

const LINE_PX = 18;
/** Browsers stop at about 33 million. */
const MAX_PX = 8_000_000;
const POLL_MS = 500;
/** No place that can be scrolled to. */
const NONE = -1000;

interface OutputProps {
  readonly id: string;
  readonly stream: string;
  readonly streams: readonly string[];
  readonly isRunning: boolean;
  onStream(name: string): void;
}

export function Output({ id, stream, streams, isRunning, onStream }: OutputProps): JSX.Element {
  const [version, redraw] = useState(0);
  const lines = useMemo(() => createLines(id, stream, () => redraw((count) => count + 1)), [id, stream]);
  const [follows, setFollows] = useState(isRunning);
  const [found, setFound] = useState<readonly number[]>([]);
  const [target, setTarget] = useState<number | undefined>(undefined);
  useEffect(() => lines.dispose, [lines]);
  useEffect(() => {
    void lines.poll();
    if (!isRunning) return undefined;
    const timer = setInterval(() => void lines.poll(), POLL_MS);
    return () => clearInterval(timer);
  }, [lines, isRunning]);
  return (
    <div class="output">
      <div class="output-bar">
        <StreamChoice streams={streams} stream={stream} onStream={onStream} />
        <Find id={id} stream={stream} onFound={setFound} onLine={setTarget} />
        <span class="quiet size">
          {grouped(lines.total())} lines, {showBytes(lines.bytes())}
        </span>
        {isRunning && (
          <button type="button" aria-pressed={follows} onClick={() => setFollows(!follows)}>
            Follow
          </button>
        )}
        <button type="button" onClick={() => void download(id, stream)}>
          Download
        </button>
      </div>
      {lines.note() !== '' && <p class="quiet output-note">{lines.note()}</p>}
      <Window
        lines={lines}
        version={version}
        follows={follows && isRunning}
        onScrolled={setFollows}
        found={found}
        target={target}
        isRunning={isRunning}
      />
    </div>
  );
}

/** The name of a file is not what a person calls it. */
const TITLES: Readonly<Record<string, string>> = { log: 'transcript', cast: 'recording' };

export function StreamChoice({
  streams,
  stream,
  onStream,
}: Pick<OutputProps, 'streams' | 'stream' | 'onStream'>): JSX.Element {
  return (
    <div class="filters" role="group" aria-label="Stream">
      {streams.map((name) => (
        <button key={name} type="button" aria-pressed={name === stream} onClick={() => onStream(name)}>
          {TITLES[name] ?? name}
        </button>
      ))}
    </div>
  );
}

export const download = (id: string, stream: string): Promise<void> =>
  act(async () => {
    const { url } = await request<{ url: string }>(`api/executions/${id}/download`, { stream });
    const link = document.createElement('a');
    link.href = url;
    link.click();
  });

const NOT_SEARCHED = { at: 0, lines: [] as readonly number[], words: '' };

interface FindProps {
  readonly id: string;
  readonly stream: string;
  onFound(lines: readonly number[]): void;
  onLine(line: number | undefined): void;
}

function Find({ id, stream, onFound, onLine }: FindProps): JSX.Element {
  const [state, setState] = useState(NOT_SEARCHED);
  const asked = useRef('');
  function show(lines: readonly number[], at: number, words: string): void {
    setState({ at, lines, words });
    onFound(lines);
    onLine(lines[at]);
  }
  async function search(pattern: string): Promise<void> {
    asked.current = pattern;
    if (pattern === '') return show([], 0, '');
    try {
      const query = new URLSearchParams({ stream, pattern });
      const { matches, nextOffset } = await request<SearchAnswer>(`api/executions/${id}/search?${query}`);
      const lines = matches.map(({ line }) => line);
      const words = `${grouped(lines.length)}${nextOffset === undefined ? '' : '+'} found`;
      show(lines, 0, lines.length === 0 ? 'Not found' : words);
    } catch (error) {
      show([], 0, wordsOf(error));
    }
  }
  return (
    <span class="find">
      <input
        id="search-output"
        type="search"
        aria-label="Search in the output, a regular expression"
        placeholder="Search in output ( f )"
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          const pattern = event.currentTarget.value;
          const by = event.shiftKey ? -1 : 1;
          const { lines, at, words } = state;
          if (pattern !== asked.current || lines.length === 0) void search(pattern);
          else show(lines, (at + by + lines.length) % lines.length, words);
        }}
      />
      <span class="quiet" role="status">
        {state.lines.length > 0 ? `${state.at + 1} of ${state.words}` : visible(state.words)}
      </span>
    </span>
  );
}

interface WindowProps {
  readonly lines: Lines;
  /** Another one with every change of the lines. */
  readonly version: number;
  readonly follows: boolean;
  readonly found: readonly number[];
  /** A line to be brought into the window. */
  readonly target: number | undefined;
  readonly isRunning: boolean;
  onScrolled(isAtEnd: boolean): void;
}

/** Which lines the window shows, and how it moves. */
function useScrolling({ lines, follows, target, isRunning, onScrolled }: WindowProps) {
  const element = useRef<HTMLDivElement>(null);
  /** The first line of the window, from 0, and what we have set ourselves. */
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(400);
  const own = useRef(NONE);
  const total = lines.total();
  const shown = Math.ceil(height / LINE_PX) + 1;
  const last = Math.max(0, total - Math.floor(height / LINE_PX));
  const totalPx = Math.min(total * LINE_PX, MAX_PX);
  const isScaled = total * LINE_PX > MAX_PX;
  const pxOf = (line: number): number =>
    isScaled ? (line / Math.max(1, last)) * (totalPx - height) : line * LINE_PX;

  function moveTo(line: number): void {
    const next = Math.min(Math.max(0, line), last);
    setTop(next);
    if (element.current === null) return;
    own.current = Math.round(pxOf(next));
    element.current.scrollTop = own.current;
  }

  useEffect(() => {
    const box = element.current;
    if (box === null) return undefined;
    const observer = new ResizeObserver(() => setHeight(box.clientHeight));
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (follows) moveTo(last);
  }, [follows, last]);
  useEffect(() => {
    if (target !== undefined) moveTo(target - 1 - Math.floor(shown / 3));
  }, [target]);

  function onScroll(): void {
    const box = element.current;
    if (box === null || Math.abs(box.scrollTop - own.current) < 1.5) return;
    own.current = NONE;
    const next = isScaled
      ? Math.round((box.scrollTop / Math.max(1, totalPx - height)) * last)
      : Math.floor(box.scrollTop / LINE_PX);
    setTop(Math.min(next, last));
    if (isRunning) onScrolled(next >= last - 1);
  }

  const first = Math.min(Math.floor(top), last);
  function onWheel(event: WheelEvent): void {
    if (!isScaled || event.deltaY === 0) return;
    event.preventDefault();
    const next = first + Math.trunc(event.deltaY / LINE_PX || Math.sign(event.deltaY));
    moveTo(next);
    if (isRunning) onScrolled(next >= last);
  }
  const offset = isScaled ? (element.current?.scrollTop ?? 0) : first * LINE_PX;
  return { element, first, shown, totalPx, offset, onScroll, onWheel };
}

function Window(props: WindowProps): JSX.Element {
  const { lines, found, target, isRunning } = props;
  const { element, first, shown, totalPx, offset, onScroll, onWheel } = useScrolling(props);
  const total = lines.total();
  const visibleLines = lines.range(first, Math.min(first + shown, total));
  const marks = new Set(found);
  return (
    <div
      ref={element}
      class="window"
      tabIndex={0}
      role="region"
      aria-label="Output"
      onScroll={onScroll}
      onWheel={onWheel}
    >
      <div class="sizer" style={{ height: `${Math.max(totalPx, 1)}px` }}>
        <div class="lines" style={{ transform: `translateY(${offset}px)` }}>
          {visibleLines.map((text, index) => (
            <Line
              key={first + index}
              number={first + index + 1}
              text={text}
              isFound={marks.has(first + index + 1)}
              isTarget={target === first + index + 1}
            />
          ))}
        </div>
      </div>
      {total === 0 && <p class="quiet no-output">{isRunning ? 'No output yet.' : 'No output.'}</p>}
    </div>
  );
}

interface LineProps {
  readonly number: number;
  readonly text: string | undefined;
  readonly isFound: boolean;
  readonly isTarget: boolean;
}

function Line({ number, text, isFound, isTarget }: LineProps): JSX.Element {
  return (
    <div class={`line ${isFound ? 'found' : ''} ${isTarget ? 'target' : ''}`}>
      <span class="number" aria-hidden="true">
        {number}
      </span>
      <span class="text">
        {text === undefined
          ? ''
          : paintLine(text).map((piece, index) => (
              <span
                key={index}
                class={piece.look}
                {...((piece.color !== undefined || piece.background !== undefined) && {
                  style: { color: piece.color, background: piece.background },
                })}
              >
                {piece.text}
              </span>
            ))}
      </span>
    </div>
  );
}
