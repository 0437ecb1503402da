import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import { countOf, formatCount, formatSpan, formatTime } from '../state/format.ts';
import type { HistoryEntry } from '../state/history.ts';
import { Dialog } from './Dialog.tsx';
import { Picture } from '../panes/Icon.tsx';
import { visibleLines } from '../rows/visible-text.ts';
import { takeTypedAhead, textAfter } from './typed-ahead.ts';

const STAR = 'M8 1.9l1.85 3.85 4.2.6-3.05 2.95.75 4.2L8 11.5l-3.75 2 .75-4.2L1.95 6.35l4.2-.6Z';

/** More would make the list slow to open. */
const MAX_SHOWN = 200;

/** The SQL that was run in this browser. An entry opens in a new tab and does not run. */
export function HistorySheet({ app }: { readonly app: AppState }): JSX.Element {
  const filter = useSignal('');
  const isSure = useSignal(false);
  const close = (): void => {
    app.sheet.value = undefined;
  };
  useLayoutEffect(() => {
    filter.value = takeTypedAhead(app).reduce(textAfter, '');
  }, [app, filter]);
  const word = filter.value.toLowerCase();
  const found = app.history.entries.value.filter(({ sql }) => sql.toLowerCase().includes(word));
  const sorted = [...found.filter(({ isStarred }) => isStarred), ...found.filter(({ isStarred }) => !isStarred)];
  const shown = sorted.slice(0, MAX_SHOWN);
  const open = (entry: HistoryEntry): void => {
    app.openQuery(entry.sql, entry.engine);
    close();
  };
  return (
    <Dialog title="History" name="history" onClose={close}>
      <input
        type="search"
        aria-label="Filter the history"
        placeholder="Filter"
        value={filter.value}
        onInput={(event) => (filter.value = event.currentTarget.value)}
      />
      {shown.length === 0 && <p class="nothing">{word ? 'Nothing found.' : 'Queries that you run are listed here.'}</p>}
      <ul>
        {shown.map((entry) => (
          <Entry
            key={entry.id}
            entry={entry}
            onOpen={() => open(entry)}
            onStar={() => app.history.star(entry.id, !entry.isStarred)}
          />
        ))}
      </ul>
      {sorted.length > shown.length && (
        <p class="nothing">
          The first {MAX_SHOWN} of {formatCount(sorted.length)}. Filter to see others.
        </p>
      )}
      <footer>
        <p>The history is in this browser only.</p>
        <button
          type="button"
          class={isSure.value ? 'danger' : ''}
          disabled={app.history.entries.value.length === 0}
          onClick={() => {
            if (isSure.value) app.history.forgetAll();
            isSure.value = !isSure.value;
          }}
        >
          {isSure.value ? 'Really forget all' : 'Forget all'}
        </button>
      </footer>
    </Dialog>
  );
}

function Entry(props: {
  readonly entry: HistoryEntry;
  readonly onOpen: () => void;
  readonly onStar: () => void;
}): JSX.Element {
  const { entry, onOpen, onStar } = props;
  const { outcome, rows, elapsedMs } = entry;
  const result = outcome === 'done' && rows !== undefined ? countOf(rows, 'row') : outcome;
  return (
    <li>
      <button
        type="button"
        class="quiet"
        aria-pressed={entry.isStarred === true}
        aria-label="Star"
        title="Star"
        onClick={onStar}
      >
        <Picture path={STAR} look={entry.isStarred ? 'filled' : ''} />
      </button>
      <button type="button" class="entry" onClick={onOpen}>
        <code>{visibleLines(entry.sql.trim().slice(0, 300))}</code>
        <small class={outcome}>
          {formatTime(entry.ranAtMs)} · {entry.engine} · {result} · {formatSpan(elapsedMs)}
        </small>
      </button>
    </li>
  );
}
