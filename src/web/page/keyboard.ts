/** The keyboard comes first: everything on the page has a key. */
import { askToEnd, chosenId, ending, go, isHelpShown, listed, session, view } from './page-state.ts';

export function listenToKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    // A dialog has its own.
    if (ending.value !== undefined || isHelpShown.value) return;
    const target = event.target as HTMLElement;
    if (target.closest('.takes-keys') !== null) return;
    if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) {
      if (event.key === 'Escape') target.blur();
      return;
    }
    if (Object.hasOwn(KEYS, event.key) && KEYS[event.key]?.() === true) event.preventDefault();
  });
}

/** What each does, and whether that was something. */
const KEYS: Readonly<Record<string, () => boolean>> = {
  '/': () => focusOn('search'),
  f: () => focusOn('search-output'),
  j: () => move(1),
  k: () => move(-1),
  Enter: open,
  x: endChosen,
  Escape: () => view.value.name !== 'now' && show('now'),
  1: () => show('now'),
  2: () => show('audit'),
  3: () => show('policy'),
  '?': () => (isHelpShown.value = true),
};

function show(name: 'now' | 'audit' | 'policy'): true {
  go({ name });
  return true;
}

function focusOn(id: string): boolean {
  const input = document.getElementById(id);
  input?.focus();
  return input !== null;
}

function move(by: number): boolean {
  const at = listed.value.findIndex(({ id }) => id === chosenId.value);
  const next = at === -1 ? 0 : Math.min(Math.max(at + by, 0), listed.value.length - 1);
  chosenId.value = listed.value[next]?.id;
  return true;
}

function open(): boolean {
  // A button or a link that has the focus is what is meant.
  if (document.activeElement?.matches('a, button') === true) return false;
  if (chosenId.value === undefined) return false;
  go({ name: 'execution', id: chosenId.value });
  return true;
}

function endChosen(): boolean {
  const row = listed.value.find(({ id }) => id === chosenId.value);
  if (row?.canEnd !== true || session.value?.isReadOnly === true) return false;
  askToEnd(row);
  return true;
}
