import type { Signal } from '@preact/signals';
import type { AppState } from '../state/app-state.ts';
import type { Command } from '../state/commands.ts';
import { canQuery, mayWrite } from '../state/permissions.ts';
import { copyLink } from './copy-link.ts';
import { useCommands } from './use-commands.ts';

/** The parts of the page in the order of F6. */
const AREAS = [
  '.side input',
  '.tab-bar [aria-current]',
  '[data-area="editor"]',
  '.view-tabs [aria-selected="true"]',
  '[role="grid"]',
];

/** Adds the commands that are always there. */
export function useAppCommands(app: AppState, isDrawerOpen: Signal<boolean>): void {
  const current = (): string => app.currentTab.peek()?.id ?? '';
  useCommands(
    app,
    [
      {
        id: 'palette',
        title: 'Go to a frame, tab or command',
        key: 'Ctrl+K',
        group: 'Go to',
        isListed: false,
        run: open('palette'),
      },
      {
        id: 'drawer.close',
        title: 'Close the list of frames',
        key: 'Escape',
        group: 'Go to',
        isListed: false,
        run: () => closeDrawer(isDrawerOpen),
      },
      { id: 'filter', title: 'Filter the frames', key: '/', group: 'Go to', run: () => focusFilter(isDrawerOpen) },
      {
        id: 'area.next',
        title: 'Go to the next area of the page',
        key: 'F6',
        group: 'Go to',
        isListed: false,
        run: () => nextArea(app),
      },
      { id: 'tab.close', title: 'Close the tab', key: 'Alt+W', group: 'Tabs', run: () => app.closeTab(current()) },
      {
        id: 'tab.reopen',
        title: 'Reopen the tab closed last',
        key: 'Alt+Shift+T',
        group: 'Tabs',
        run: () => app.reopenTab(),
      },
      {
        id: 'tab.previous',
        title: 'Go to the previous tab',
        key: 'Alt+ArrowLeft',
        group: 'Tabs',
        run: () => app.stepTab(-1),
      },
      { id: 'tab.next', title: 'Go to the next tab', key: 'Alt+ArrowRight', group: 'Tabs', run: () => app.stepTab(1) },
      {
        id: 'tab.link',
        title: 'Copy a link to the tab',
        key: 'Alt+L',
        group: 'Tabs',
        run: () => copyLink(app),
      },
      { id: 'history', title: 'Show the history of queries', key: 'Alt+H', group: 'Query', run: open('history') },
      { id: 'help', title: 'Show all keys', key: '?', group: 'Console', run: open('help') },
      { id: 'theme', title: 'Change between light and dark', group: 'Console', run: () => app.toggleTheme() },
      { id: 'refresh', title: 'Load the list of frames again', group: 'Console', run: () => void app.refreshFrames() },
    ],
    [app],
  );
  useAllowedCommands(app);
  function open(sheet: 'palette' | 'help' | 'history'): () => void {
    return () => {
      app.sheet.value = sheet;
    };
  }
}

/** Adds the commands that a server without an SQL engine, or a user who may only read, does not have. */
function useAllowedCommands(app: AppState): void {
  const hasEngine = canQuery(app.info.value);
  const isWriter = mayWrite(app.info.value);
  const query: Command = {
    id: 'tab.new',
    title: 'Open a new query',
    key: 'Alt+T',
    group: 'Tabs',
    run: () => app.openQuery(''),
  };
  const upload: Command = {
    id: 'upload',
    title: 'Upload files',
    key: 'u',
    group: 'Frame',
    run: () => {
      app.sheet.value = 'upload';
    },
  };
  useCommands(app, [...(hasEngine ? [query] : []), ...(isWriter ? [upload] : [])], [app, hasEngine, isWriter]);
}

function closeDrawer(isDrawerOpen: Signal<boolean>): void | false {
  if (!isDrawerOpen.value) return false;
  isDrawerOpen.value = false;
}

function focusFilter(isDrawerOpen: Signal<boolean>): void {
  isDrawerOpen.value = true;
  const field = document.querySelector<HTMLInputElement>('.side input');
  // What is typed at once is for the field.
  field?.focus();
  // In a narrow window the drawer is shown when the page is rendered, which is before the next key.
  queueMicrotask(() => field?.focus());
}

/** Moves the focus to the next area; after the last one the browser has the key, for its own parts. */
function nextArea(app: AppState): void | false {
  const areas = AREAS.flatMap((selector) => document.querySelector<HTMLElement>(selector) ?? []);
  const shown = areas.filter((area) => area.checkVisibility());
  const at = shown.findLastIndex((area) => isAtOrAfter(area, document.activeElement));
  const next = shown[at + 1];
  if (next === undefined) return false;
  // The editor is in a shadow root: only its own command can give it the focus.
  if (next.dataset['area'] === 'editor')
    app.commands.all
      .peek()
      .find(({ id }) => id === 'query.edit')
      ?.run();
  else next.focus();
}

/** Whether an element is the area or comes after its start in the page. */
function isAtOrAfter(area: HTMLElement, element: Element | null): boolean {
  if (element === null || element === document.body) return false;
  return area === element || (area.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
}
