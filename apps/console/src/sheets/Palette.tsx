import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { AppState } from '../state/app-state.ts';
import { type PaletteItem, paletteItems } from '../state/palette-items.ts';
import { Dialog } from './Dialog.tsx';
import { Icon } from '../panes/Icon.tsx';
import { Key } from '../panes/Key.tsx';
import { takeTypedAhead, textAfter } from './typed-ahead.ts';

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
