import { useLayoutEffect } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import { isKey, isTypingKey } from '../state/keys.ts';
import { isMac } from './Key.tsx';

/** Runs the commands of keys, wherever the focus is, from the first paint on. A modal dialog has the keys for itself. */
export function useKeys(app: AppState): void {
  useLayoutEffect(() => {
    const onCapture = (event: KeyboardEvent): void => {
      if (!app.sheet.peek() || document.querySelector('dialog[open], .lazy[role]') || !keepKey(app, event)) return;
      event.preventDefault();
      event.stopPropagation();
    };
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.isComposing || document.querySelector('dialog[open]')) return;
      const isTyping = isTextField(event.composedPath()[0]);
      const commands = app.commands.all
        .peek()
        .filter(({ key }) => key && isKey(key, event, isMac) && !(isTyping && isTypingKey(key, isMac)));
      // The part of the page that came last knows best; if it has nothing to do, the others may.
      if (commands.toReversed().some(({ run }) => run() !== false)) event.preventDefault();
    };
    document.addEventListener('keydown', onCapture, true);
    document.addEventListener('keydown', onKeyDown);
    return () => {
      document.removeEventListener('keydown', onCapture, true);
      document.removeEventListener('keydown', onKeyDown);
    };
  }, [app]);
}

/** Keeps a key for the sheet whose code is loading; false if it is not for the sheet. Escape closes the sheet. */
function keepKey({ sheet, typedAhead }: AppState, { key, ctrlKey, altKey, metaKey }: KeyboardEvent): boolean {
  if (ctrlKey || altKey || metaKey || !/^(.|Enter|Escape|Backspace|Arrow.*)$/u.test(key)) return false;
  if (key === 'Escape') sheet.value = undefined;
  typedAhead.value = key === 'Escape' ? [] : [...typedAhead.peek(), key];
  return true;
}

/** Whether letters typed into an element go into a text. Editors in a shadow root are found, too. */
function isTextField(target: EventTarget | undefined): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !/^(button|checkbox|radio|range|submit)$/.test(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}
