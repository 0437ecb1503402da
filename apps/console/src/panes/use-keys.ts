import { useEffect } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import { isKey, isTypingKey } from '../state/keys.ts';
import { isMac } from './Key.tsx';

/** Runs the commands of keys, wherever the focus is. A modal dialog has the keys for itself. */
export function useKeys(app: AppState): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.isComposing || document.querySelector('dialog[open]')) return;
      const isTyping = isTextField(event.composedPath()[0]);
      const commands = app.commands.all
        .peek()
        .filter(({ key }) => key && isKey(key, event, isMac) && !(isTyping && isTypingKey(key, isMac)));
      // The part of the page that came last knows best; if it has nothing to do, the others may.
      if (commands.toReversed().some(({ run }) => run() !== false)) event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [app]);
}

/** Whether letters typed into an element go into a text. Editors in a shadow root are found, too. */
function isTextField(target: EventTarget | undefined): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !/^(button|checkbox|radio|range|submit)$/.test(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}
