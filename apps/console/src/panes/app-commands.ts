import { useCommands } from '../widgets/hooks.ts';
import type { Signal } from '@preact/signals';
import type { AppState, Sheet } from '../state/app-state.ts';
import { type Command, isKey, isTypingKey } from '../state/commands.ts';
import { canQuery, mayWrite } from '../state/server-state.ts';
import { copyLink } from './TabBar.tsx';
import { isMac } from '../widgets/Key.tsx';
import { useLayoutEffect } from 'preact/hooks';

/** The parts of the page in the order of F6. */
const AREAS = [
  '.side input',
  '.tab-bar [aria-current]',
  '[data-area="editor"]',
  '.view-tabs [aria-selected="true"]',
  '[role="grid"]',
];

type CommandRow = readonly [id: string, title: string, key: string, group: Command['group'], run: Command['run']];

/** These commands are run by their keys; the palette does not list them. */
const UNLISTED = new Set(['palette', 'drawer.close', 'area.next']);

const commandOf = ([id, title, key, group, run]: CommandRow): Command => ({
  id,
  title,
  group,
  run,
  isListed: !UNLISTED.has(id),
  ...(key && { key }),
});

/** Adds the commands of the page. Some need an SQL engine, or a user who may write. */
export function useAppCommands(app: AppState, isDrawerOpen: Signal<boolean>): void {
  const open = (sheet: Sheet) => (): void => {
    app.sheet.value = sheet;
  };
  const current = (): string => app.currentTab.peek()?.id ?? '';
  const always: readonly CommandRow[] = [
    ['palette', 'Go to a frame, tab or command', 'Ctrl+K', 'Go to', open('palette')],
    ['drawer.close', 'Close the list of frames', 'Escape', 'Go to', () => closeDrawer(isDrawerOpen)],
    ['filter', 'Filter the frames', '/', 'Go to', () => focusFilter(isDrawerOpen)],
    ['area.next', 'Go to the next area of the page', 'F6', 'Go to', () => nextArea(app)],
    ['tab.close', 'Close the tab', 'Alt+W', 'Tabs', () => app.closeTab(current())],
    ['tab.reopen', 'Reopen the tab closed last', 'Alt+Shift+T', 'Tabs', () => app.reopenTab()],
    ['tab.previous', 'Go to the previous tab', 'Alt+ArrowLeft', 'Tabs', () => app.stepTab(-1)],
    ['tab.next', 'Go to the next tab', 'Alt+ArrowRight', 'Tabs', () => app.stepTab(1)],
    ['tab.link', 'Copy a link to the tab', 'Alt+L', 'Tabs', () => copyLink(app)],
    ['history', 'Show the history of queries', 'Alt+H', 'Query', open('history')],
    ['help', 'Show all keys', '?', 'Console', open('help')],
    ['theme', 'Change between light and dark', '', 'Console', () => app.toggleTheme()],
    ['refresh', 'Load the list of frames again', '', 'Console', () => void app.refreshFrames()],
  ];
  useCommands(app, always.map(commandOf), [app]);
  const hasEngine = canQuery(app.info.value);
  const isWriter = mayWrite(app.info.value);
  const allowed: CommandRow[] = [];
  if (hasEngine) allowed.push(['tab.new', 'Open a new query', 'Alt+T', 'Tabs', () => app.openQuery('')]);
  if (isWriter) allowed.push(['upload', 'Upload files', 'u', 'Frame', open('upload')]);
  useCommands(app, allowed.map(commandOf), [app, hasEngine, isWriter]);
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
  // In a narrow window the next render shows the drawer, before the next key.
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

/** True if an element is the area or comes after its start in the page. */
function isAtOrAfter(area: HTMLElement, element: Element | null): boolean {
  if (element === null || element === document.body) return false;
  return area === element || (area.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
}

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
      // The newest part of the page comes first; if it has nothing to do, the others may.
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

/** True if typed letters go into a text. Editors in a shadow root are found, too. */
function isTextField(target: EventTarget | undefined): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !/^(button|checkbox|radio|range|submit)$/.test(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}
