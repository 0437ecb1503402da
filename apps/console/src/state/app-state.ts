import type { ReadonlySignal, Signal } from '@preact/signals';
import type { EngineName } from '../api/types.ts';
import type { Commands } from './commands.ts';
import type { History } from './history.ts';
import type { ServerState } from './server-state.ts';
import type { Uploads } from './uploads.ts';
import type { FrameTab, QueryTab, Tab, View } from './tabs.ts';

/** What a tab can change of itself; its id and kind stay. */
export type TabPatch =
  Partial<Omit<QueryTab, 'id' | 'kind' | 'view'>> | Partial<Omit<FrameTab, 'id' | 'kind' | 'view'>>;

/** What is open above the page. */
export type Sheet = 'palette' | 'help' | 'upload' | 'history';

/** The colours that the user chose; `system` follows the operating system. */
export type ThemeChoice = 'system' | 'light' | 'dark';

/** A line above the page. It stays until it is dismissed or what it says is over. */
export interface Banner {
  readonly tone: 'info' | 'warning' | 'error';
  readonly text: string;
  readonly hint?: string;
  readonly action?: { readonly title: string; readonly run: () => void };
}

/** The state of the whole console. It is created once, in main.tsx, and passed down. */
export interface AppState extends Omit<ServerState, 'refresh' | 'setVisible'> {
  /** Loads the list again, now: call it after every change. It does not throw. */
  refreshFrames(): Promise<void>;

  readonly tabs: ReadonlySignal<readonly Tab[]>;
  readonly currentTab: ReadonlySignal<Tab | undefined>;
  selectTab(id: string): void;
  /** Selects the next tab, or the previous one; after the last comes the first. */
  stepTab(by: 1 | -1): void;
  closeTab(id: string): void;
  /** Opens the tab that was closed last. */
  reopenTab(): void;
  /** Opens a tab that a link has; a frame that is open already is only shown. */
  openTab(tab: Tab): void;
  /** Shows the tab of a frame; opens it if there is none. */
  openFrame(handle: string, view?: FrameTab['view']): void;
  /** Opens a new query tab. It does not run. Default engine: the server's. */
  openQuery(sql: string, engine?: EngineName): void;
  updateTab(id: string, patch: TabPatch): void;
  setView(id: string, view: View): void;
  /** The tabs with something that runs: their titles show it. */
  readonly busyTabs: ReadonlySignal<ReadonlySet<string>>;
  setBusy(id: string, isBusy: boolean): void;

  readonly themeChoice: ReadonlySignal<ThemeChoice>;
  /** Changes between light and dark. If the system prefers the new one, the page follows the system again. */
  toggleTheme(): void;
  /** The colours on the page now: canvases paint again when it changes. */
  readonly theme: ReadonlySignal<'light' | 'dark'>;
  readonly banner: Signal<Banner | undefined>;
  readonly sheet: Signal<Sheet | undefined>;
  /** The keys that were pressed while the code of the sheet was loading, until the sheet has taken them. */
  readonly typedAhead: Signal<readonly string[]>;
  /** The text that screen readers were told last. */
  readonly announcement: ReadonlySignal<string>;
  /** Tells screen readers something, politely. */
  announce(text: string): void;
  /** The text that is shown for a few seconds. */
  readonly notice: ReadonlySignal<string>;
  /** Shows a text for a few seconds; screen readers read it. */
  notify(text: string): void;
  readonly uploads: Uploads;
  /** The files that were dropped or picked, until the upload sheet has taken them. */
  readonly pickedFiles: Signal<readonly File[]>;
  readonly history: History;
  readonly commands: Commands;
}
