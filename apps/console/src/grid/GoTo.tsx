import type { JSX } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { RowSource } from '../rows/row-source.ts';
import { parseGoTo } from './selection.ts';

interface Props {
  readonly source: RowSource;
  readonly onGo: (target: { readonly row: number } | { readonly column: number }) => void;
  readonly onClose: () => void;
}

/** The names of columns that are suggested. */
const MAX_SUGGESTIONS = 1000;

/** Asks for a row or a column, and goes there. */
export function GoTo({ source, onGo, onClose }: Props): JSX.Element {
  const [text, setText] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  useLayoutEffect(() => input.current?.focus(), []);
  const names = source.columns.map(({ name }) => name);
  const target = parseGoTo(text, source.rowCount.value, names);
  return (
    // Escape closes the form, wherever in it the focus is; a button does, too.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <form
      class="grid-go-to"
      onSubmit={(event) => {
        event.preventDefault();
        if (target !== undefined) onGo(target);
      }}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Escape') onClose();
      }}
    >
      <label>
        Go to row or column{' '}
        <input
          ref={input}
          value={text}
          list={list}
          placeholder="1000, 50% or a name"
          autocomplete="off"
          aria-invalid={text.trim() !== '' && target === undefined}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <datalist id={list}>
        {names.slice(0, MAX_SUGGESTIONS).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </datalist>
      <button type="submit" disabled={target === undefined}>
        Go
      </button>
      <button type="button" onClick={onClose} aria-label="Close the search for a row or column">
        Close
      </button>
    </form>
  );
}
