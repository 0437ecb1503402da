import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import { type PaletteItem, paletteItems } from '../state/palette-items.ts';
import { Dialog } from '../widgets/Dialog.tsx';
import { Icon, Picture } from '../widgets/Icon.tsx';
import { Key } from '../widgets/Key.tsx';
import { countOf, formatCount, formatSpan } from '../state/format.ts';
import type { HistoryEntry } from '../state/history.ts';
import { visibleLines } from '../rows/row-source.ts';
import type { Command } from '../state/commands.ts';
import { ErrorBox } from '../widgets/ErrorBox.tsx';

const ICONS = { frame: 'table', tab: 'code', command: 'chevron' } as const;

/** Goes to a frame or tab, or runs a command, by some letters of its name. */
export function Palette({ app }: { readonly app: AppState }): JSX.Element {
  const text = useSignal('');
  const at = useSignal(0);
  const list = useRef<HTMLDivElement>(null);
  const items = paletteItems(app, text.value);
  const index = Math.min(at.value, items.length - 1);
  useEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' }), [index]);
  const close = (): void => {
    app.sheet.value = undefined;
  };
  const run = (item: PaletteItem | undefined): void => {
    if (item === undefined) return;
    // The dialog gives the focus back first: the command may move it, and the next key is for what it opened.
    list.current?.closest('dialog')?.close();
    close();
    item.run();
  };
  const press = (key: string): boolean => {
    const found = paletteItems(app, text.peek());
    const place = Math.min(at.peek(), found.length - 1);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[key];
    if (by !== undefined) at.value = Math.max(0, Math.min(found.length - 1, place + by));
    else if (key === 'Enter') run(found[place]);
    else return false;
    return true;
  };
  const type = (typed: string): void => {
    text.value = typed;
    at.value = 0;
  };
  useLayoutEffect(() => {
    for (const key of takeTypedAhead(app)) if (!press(key)) type(textAfter(text.peek(), key));
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- what was typed ahead is taken once
  }, []);
  return (
    <Dialog title="Go to a frame, tab or command" name="palette" isBare onClose={close}>
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={items[index] && `palette-${index}`}
        aria-label="Frame, tab or command"
        placeholder="Frame, tab or command"
        autocomplete="off"
        spellcheck={false}
        value={text.value}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => press(event.key) && event.preventDefault()}
      />
      <div id="palette-list" class="items" role="listbox" aria-label="Results" ref={list}>
        {items.map((item, place) => (
          <button
            key={item.id}
            type="button"
            id={`palette-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={place === index}
            onClick={() => run(item)}
          >
            <Icon name={ICONS[item.kind]} />
            <span class="title">{item.title}</span>
            <span class="detail">{item.detail ?? (item.kind === 'frame' ? 'frame' : '')}</span>
            {item.key && <Key of={item.key} />}
          </button>
        ))}
      </div>
      {items.length === 0 && <p class="nothing">Nothing found.</p>}
    </Dialog>
  );
}

const STAR = 'M8 1.9l1.85 3.85 4.2.6-3.05 2.95.75 4.2L8 11.5l-3.75 2 .75-4.2L1.95 6.35l4.2-.6Z';

/** More would make the list slow to open. */
const MAX_SHOWN = 200;

/** The SQL history of this browser. An entry opens in a new tab and does not run. */
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

const GROUPS: readonly Command['group'][] = ['Go to', 'Tabs', 'Query', 'Rows', 'Frame', 'Console'];

/** The grid's own keys. */
const GRID_KEYS: readonly Omit<Command, 'id' | 'run'>[] = [
  { key: 'Ctrl+Home', title: 'Go to the first row', group: 'Rows' },
  { key: 'Ctrl+End', title: 'Go to the last row', group: 'Rows' },
  { key: 'Ctrl+G', title: 'Go to a row or column', group: 'Rows' },
  { key: ' ', title: 'Show the whole cell', group: 'Rows' },
  { key: 'Ctrl+C', title: 'Copy the selected cells', group: 'Rows' },
  { key: 'Ctrl+Shift+C', title: 'Copy them with the names of the columns', group: 'Rows' },
  { key: 's', title: 'Sort by the column', group: 'Rows' },
  { key: 'f', title: 'Show the rows with the same value', group: 'Rows' },
  { key: 'Alt+Shift+ArrowRight', title: 'Make the column wider', group: 'Rows' },
];

/** All keys of what is on the page now, and those of rows. */
export function Help({ app }: { readonly app: AppState }): JSX.Element {
  useLayoutEffect(() => void takeTypedAhead(app), [app]);
  const commands = [...app.commands.all.value, ...GRID_KEYS].filter(({ key }) => key);
  return (
    <Dialog title="Keys" name="help" onClose={() => (app.sheet.value = undefined)}>
      <div class="groups">
        {GROUPS.map((group) => ({ group, found: commands.filter((command) => command.group === group) }))
          .filter(({ found }) => found.length > 0)
          .map(({ group, found }) => (
            <section key={group}>
              <h3>{group}</h3>
              <dl>
                {found.map(({ title, key }) => (
                  <div key={title}>
                    <dt>{key && <Key of={key} />}</dt>
                    <dd>{title}</dd>
                  </div>
                ))}
              </dl>
            </section>
          ))}
      </div>
      <p class="more">
        Keys without Ctrl or Alt work outside of text fields. The API of this server is described at{' '}
        <a href={app.api.url('docs')} target="_blank" rel="noreferrer">
          /docs
        </a>
        .
      </p>
    </Dialog>
  );
}

/** Asks for a token. It is in no storage: a reload asks again. */
export function SignIn({ app }: { readonly app: AppState }): JSX.Element {
  const token = useSignal('');
  const isBusy = useSignal(false);
  const hasTried = useSignal(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (token.value.trim() === '' || isBusy.value) return;
    isBusy.value = true;
    await app.signIn(token.value.trim());
    isBusy.value = false;
    hasTried.value = true;
  };
  const refusal = app.refusal.value;
  return (
    <Dialog title="Sign in" name="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <p>
          This server answers only callers with a token. The page keeps it in memory, until it is closed or reloaded.
        </p>
        <label class="field">
          Token
          <input
            id="token"
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={token.value}
            onInput={(event) => (token.value = event.currentTarget.value)}
          />
        </label>
        {hasTried.value && refusal && <ErrorBox error={refusal} />}
        <footer>
          <button type="submit" class="primary" disabled={isBusy.value || token.value.trim() === ''}>
            {isBusy.value ? 'Signing in…' : 'Sign in'}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** Takes the keys pressed before the sheet was there. */
export function takeTypedAhead({ typedAhead }: AppState): readonly string[] {
  const keys = typedAhead.peek();
  typedAhead.value = [];
  return keys;
}

/** Returns a text after a key: a letter, or Backspace. Other keys do not change it. */
export function textAfter(text: string, key: string): string {
  if (key === 'Backspace') return text.replace(/.$/u, '');
  return /^.$/u.test(key) ? text + key : text;
}

/** Returns a time in the reader's own zone, to the second. */
export function formatTime(ms: number): string {
  const date = new Date(ms);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
