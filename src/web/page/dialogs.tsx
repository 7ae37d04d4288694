/** Questions to the person, and short messages. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { EndAnswer } from '../wire.ts';
import { request } from './api.ts';
import { act } from './asking.ts';
import { titleOf } from './now.tsx';
import { ending, isHelpShown, notice } from './page-state.ts';
import { visible } from './text.ts';

const RESULTS: Readonly<Record<EndAnswer['result'], string>> = {
  ended: 'Ended with everything it had started.',
  requested: 'It has not ended yet; its server was asked to end it.',
  over: 'It had ended already.',
  unknown: 'There is no such execution any more.',
};

function end(id: string): Promise<void> {
  ending.value = undefined;
  return act(async () => {
    const { result } = await request<EndAnswer>(`api/executions/${id}/end`, {});
    notice.value = RESULTS[result];
  });
}

export function Ending(): JSX.Element | null {
  const row = ending.value;
  if (row === undefined) return null;
  const leave = (): void => {
    ending.value = undefined;
  };
  return (
    <Modal title="End this execution?" onClose={leave}>
      <pre class="asked">{visible(titleOf(row))}</pre>
      <p class="quiet">Everything it started ends with it.</p>
      <div class="choices">
        <button type="button" onClick={leave}>
          Cancel
        </button>
        <button type="button" class="danger" autofocus onClick={() => void end(row.id)}>
          End it
        </button>
      </div>
    </Modal>
  );
}

const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'Search'],
  ['j k', 'Next, previous'],
  ['Enter', 'Open'],
  ['x', 'End the chosen one'],
  ['f', 'Search in the output'],
  ['Space', 'Play or pause a recording'],
  ['← →', 'Move in a recording'],
  ['1 2 3', 'Now, audit, policy'],
  ['Esc', 'Close, or back to the list'],
  ['?', 'These keys'],
];

export function Help(): JSX.Element | null {
  if (!isHelpShown.value) return null;
  const leave = (): void => {
    isHelpShown.value = false;
  };
  return (
    <Modal title="Keys" onClose={leave}>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <div class="choices">
        <button type="button" autofocus onClick={leave}>
          Close
        </button>
      </div>
    </Modal>
  );
}

const NOTICE_MS = 6000;

export function Notice(): JSX.Element {
  const text = notice.value;
  useEffect(() => {
    if (text === '') return undefined;
    const timer = setTimeout(() => {
      notice.value = '';
    }, NOTICE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div class={`notice ${text === '' ? '' : 'shown'}`} role="status">
      {text}
    </div>
  );
}

interface ModalProps {
  readonly title: string;
  onClose(): void;
  readonly children: ComponentChildren;
}

function Modal({ title, onClose, children }: ModalProps): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  return (
    <dialog ref={element} aria-label={title} onCancel={onClose} onClose={onClose}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}
