/** The keyboard comes first: everything on the page has a key. */
import { chosenId, ending, go, isHelpShown, listed, session, view } from './page-state.ts';

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
    if (press(event.key)) event.preventDefault();
  });
}

function press(key: string): boolean {
  switch (key) {
    case '/':
      return focusOn('search');
    case 'f':
      return focusOn('search-output');
    case 'j':
      return move(1);
    case 'k':
      return move(-1);
    case 'Enter':
      return open();
    case 'x':
      return askToEnd();
    case 'Escape':
      if (view.value.name === 'now') return false;
      go({ name: 'now' });
      return true;
    case '1':
    case '2':
    case '3':
      go({ name: (['now', 'audit', 'policy'] as const)[Number(key) - 1] ?? 'now' });
      return true;
    case '?':
      isHelpShown.value = true;
      return true;
    default:
      return false;
  }
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

function askToEnd(): boolean {
  const row = listed.value.find(({ id }) => id === chosenId.value);
  if (row?.canEnd !== true || session.value?.isReadOnly === true) return false;
  ending.value = row;
  return true;
}
