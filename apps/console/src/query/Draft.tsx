import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { TextRange } from '../editor/statement-at.ts';
import { isMac } from '../widgets/Key.tsx';
import type { AppState } from '../state/app-state.ts';
import { isKey } from '../state/commands.ts';
import type { QueryTab } from '../state/tabs.ts';

/** A plain text field in the place of the editor until its code is loaded: what is typed at once is not lost. */
export function Draft(props: {
  readonly app: AppState;
  readonly tab: QueryTab;
  readonly onRun: () => void;
  /** Called with the selection when the field goes while it has the focus. */
  readonly onLeave?: (selection: TextRange) => void;
}): JSX.Element {
  const { app, tab, onRun, onLeave } = props;
  const ref = useRef<HTMLTextAreaElement>(null);
  // Before the next key: an effect after the paint would be too late.
  useLayoutEffect(() => {
    const field = ref.current;
    const { activeElement } = document;
    // An empty tab is for typing; else a click or a key elsewhere keeps its place.
    if (field && (tab.sql === '' || activeElement === document.body || activeElement === null)) {
      field.focus();
      field.setSelectionRange(tab.sql.length, tab.sql.length);
    }
    return () => {
      if (field && document.activeElement === field) onLeave?.({ from: field.selectionStart, to: field.selectionEnd });
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- what the field begins with counts
  }, []);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isKey('Ctrl+Enter', event, isMac)) return;
    event.preventDefault();
    onRun();
  };
  return (
    <textarea
      class="draft"
      ref={ref}
      aria-label="SQL"
      placeholder="select …"
      spellcheck={false}
      value={tab.sql}
      onInput={(event) => app.updateTab(tab.id, { sql: event.currentTarget.value })}
      onKeyDown={onKeyDown}
    />
  );
}
