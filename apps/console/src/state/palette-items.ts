import type { AppState } from './app-state.ts';

/** Something the palette goes to or does. */
export interface PaletteItem {
  readonly id: string;
  readonly kind: 'frame' | 'tab' | 'command';
  readonly title: string;
  readonly detail?: string;
  readonly key?: string;
  readonly run: () => void;
}

const MAX_ITEMS = 50;

/** Returns the tabs, frames and commands with the letters of a text in their order. */
export function paletteItems(app: AppState, text: string): readonly PaletteItem[] {
  const items: readonly PaletteItem[] = [
    ...app.tabs.value
      .filter((tab) => tab.kind === 'query')
      .map((tab) => ({
        id: `tab-${tab.id}`,
        kind: 'tab' as const,
        title: tab.title,
        detail: tab.sql.replaceAll(/\s+/g, ' ').slice(0, 120),
        run: () => app.selectTab(tab.id),
      })),
    ...app.frames.value.map(({ handle }) => ({
      id: `frame-${handle}`,
      kind: 'frame' as const,
      title: handle,
      run: () => app.openFrame(handle),
    })),
    ...app.commands.all.value
      .filter(({ isListed = true }) => isListed)
      .map(({ id, title, key, run }) => ({
        id: `command-${id}`,
        kind: 'command' as const,
        title,
        ...(key && { key }),
        run: () => void run(),
      })),
  ];
  return items
    .map((item) => ({ item, score: scoreOf(item.title, text) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, MAX_ITEMS)
    .map(({ item }) => item);
}

/** Returns how well a title fits a text, 0 if not at all: the text at the start, at the start of a word, within, scattered. */
export function scoreOf(title: string, text: string): number {
  const within = title.toLowerCase();
  const wanted = text.trim().toLowerCase();
  const at = within.indexOf(wanted);
  if (at === 0) return 4;
  if (at > 0) return /[a-z0-9]/.test(within[at - 1] ?? '') ? 2 : 3;
  let from = 0;
  for (const letter of wanted.replaceAll(' ', '')) {
    from = within.indexOf(letter, from) + 1;
    if (from === 0) return 0;
  }
  return 1;
}
