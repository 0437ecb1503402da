import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import { type PaletteItem, paletteItems } from '../state/palette-items.ts';
import { Dialog } from './Dialog.tsx';
import { Icon } from '../panes/Icon.tsx';
import { Key } from '../panes/Key.tsx';

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
    close();
    // The dialog gives the focus back first: a command may move it.
    setTimeout(item.run);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (by !== undefined) at.value = Math.max(0, Math.min(items.length - 1, index + by));
    else if (event.key === 'Enter') run(items[index]);
    else return;
    event.preventDefault();
  };
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
        onInput={(event) => {
          text.value = event.currentTarget.value;
          at.value = 0;
        }}
        onKeyDown={onKeyDown}
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
