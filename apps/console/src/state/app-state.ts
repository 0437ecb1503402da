import { computed, effect, type ReadonlySignal, type Signal, signal, untracked } from '@preact/signals';
import { createApi, type EngineName, type ServerInfo } from '../api/api.ts';
import { type Commands, createCommands } from './commands.ts';
import { createHistory, type History } from './history.ts';
import { createServerState, type ServerState } from './server-state.ts';
import { createUploads, type Uploads } from './uploads.ts';
import { createTabList, type Tab, type TabList } from './tabs.ts';
import { createStore, type StorageArea, type Store } from './store.ts';

/** What is open above the page. */
export type Sheet = 'palette' | 'help' | 'upload' | 'history';

/** The chosen colours; `system` follows the operating system. */
export type ThemeChoice = 'system' | 'light' | 'dark';

/** A line above the page. It stays until it is dismissed or what it says is over. */
export interface Banner {
  readonly tone: 'info' | 'warning' | 'error';
  readonly text: string;
  readonly hint?: string;
  readonly action?: { readonly title: string; readonly run: () => void };
}

/** The state of the whole console. It is created once, in main.tsx, and passed down. */
export interface AppState
  extends Omit<ServerState, 'refresh' | 'setVisible'>, Omit<TabList, 'flush' | 'load' | 'openQuery'> {
  /** Loads the list again, now: call it after every change. It does not throw. */
  refreshFrames(): Promise<void>;

  /** Opens a new query tab. It does not run. Default engine: the server's. */
  openQuery(sql: string, engine?: EngineName): void;
  /** The tabs with a running statement: their titles show it. */
  readonly busyTabs: ReadonlySignal<ReadonlySet<string>>;
  setBusy(id: string, isBusy: boolean): void;

  readonly themeChoice: ReadonlySignal<ThemeChoice>;
  /** Changes between light and dark. If the system prefers the new one, the page follows the system again. */
  toggleTheme(): void;
  /** The colours on the page now: canvases paint again when it changes. */
  readonly theme: ReadonlySignal<'light' | 'dark'>;
  readonly banner: Signal<Banner | undefined>;
  readonly sheet: Signal<Sheet | undefined>;
  /** The keys pressed while the code of the sheet is loading, until the sheet takes them. */
  readonly typedAhead: Signal<readonly string[]>;
  /** The last text for screen readers. */
  readonly announcement: ReadonlySignal<string>;
  /** Tells screen readers something, politely. */
  announce(text: string): void;
  /** A text on the page for a few seconds. */
  readonly notice: ReadonlySignal<string>;
  /** Shows a text for a few seconds; screen readers read it. */
  notify(text: string): void;
  readonly uploads: Uploads;
  /** The dropped or picked files, until the upload sheet takes them. */
  readonly pickedFiles: Signal<readonly File[]>;
  readonly history: History;
  readonly commands: Commands;
}

/** How long a notice is shown. */
const NOTICE_MS = 5000;

/** What the state takes from the browser. */
export interface AppStateOptions {
  /** The address of the API. */
  readonly base: URL;
  readonly send: typeof fetch;
  /** Kept until the browser's tab is closed. It comes first: two of the browser's tabs do not share theirs. */
  readonly session: StorageArea;
  /** Kept for good. */
  readonly local: StorageArea;
  /** The colours of the operating system. */
  readonly colorScheme: ColorScheme;
}

/** Creates the state of the console, and starts to load what the server has. */
export function createAppState({ base, send, session, local, colorScheme }: AppStateOptions): AppState & {
  setVisible(isVisible: boolean): void;
  /** Saves what is to be saved later: the page may end. */
  flush(): void;
} {
  const server = createServerState((observer) => createApi(base, observer, send));
  const storesOf = createStores(base, session, local);
  const tabs = createTabList(storesOf('').tabs);
  const history = createHistory(storesOf('').kept);
  const tenant = computed(() => server.info.value?.caller?.tenant ?? '');
  const isKept = computed(() => server.info.value?.console?.keepsHistory ?? true);
  const linked: Tab[] = [];
  effect(() => {
    const stores = storesOf(tenant.value, isKept.value);
    // Also what was written before the server was known.
    if (!isKept.value) for (const name of ['tabs', 'history']) stores.all.remove(name);
    tabs.load(stores.tabs);
    history.load(stores.kept);
    // A link opened before the sign-in belongs to the one who has signed in.
    untracked(() => linked.splice(0).forEach(tabs.openTab));
  });
  const uploads = createUploads(server.api, (job) => {
    if (job.state === 'done') void server.refresh();
  });
  const announcement = signal('');
  const notice = signal('');
  let noticeTimer: ReturnType<typeof setTimeout> | undefined;
  const busyTabs = signal<ReadonlySet<string>>(new Set());
  function notify(text: string): void {
    clearTimeout(noticeTimer);
    notice.value = text;
    noticeTimer = setTimeout(() => (notice.value = ''), NOTICE_MS);
  }
  return {
    ...server,
    ...createTheme(createStore([local], 'svc'), colorScheme),
    refreshFrames: server.refresh,
    ...tabs,
    openTab(tab) {
      if (server.info.peek() === undefined) linked.push(tab);
      tabs.openTab(tab);
    },
    openQuery: (sql, engine) => tabs.openQuery(sql, engine ?? firstEngine(server.info.value)),
    busyTabs,
    setBusy(id, isBusy) {
      const busy = new Set(busyTabs.peek());
      if (isBusy) busy.add(id);
      else busy.delete(id);
      busyTabs.value = busy;
    },
    banner: signal<Banner | undefined>(undefined),
    sheet: signal<Sheet | undefined>(undefined),
    typedAhead: signal<readonly string[]>([]),
    announcement,
    // The same text twice would not be read again.
    announce: (text) => (announcement.value = announcement.peek() === text ? `${text}\u00a0` : text),
    notice,
    notify,
    uploads,
    pickedFiles: signal<readonly File[]>([]),
    history,
    commands: createCommands(),
  };
}

/** The engine of a new query: the one over this server's frames, if there is one. */
function firstEngine(info: ServerInfo | undefined): EngineName {
  if (info === undefined || info.engines.includes('local')) return 'local';
  return info.engines.includes(info.defaultEngine) ? info.defaultEngine : (info.engines[0] ?? 'local');
}

/** Returns the stores of a tenant: tenants do not see what others typed, nor do two servers behind one origin. */
function createStores(base: URL, session: StorageArea, local: StorageArea) {
  return (tenant: string, isKept = true) => {
    const prefix = `svc:${base.pathname}:${tenant}`;
    return {
      tabs: createStore(isKept ? [session, local] : [session], prefix),
      kept: createStore(isKept ? [local] : [], prefix),
      all: createStore([local], prefix),
    };
  };
}

/** The colours of the operating system, and a way to follow them. */
interface ColorScheme {
  readonly isDark: () => boolean;
  readonly onChange: (listener: () => void) => void;
}

/** The theme on the page: what the user chose, or what the operating system prefers. */
function createTheme(store: Store, scheme: ColorScheme): Pick<AppState, 'theme' | 'themeChoice' | 'toggleTheme'> {
  const saved = store.read('theme');
  const themeChoice = signal<ThemeChoice>(saved === 'light' || saved === 'dark' ? saved : 'system');
  const isDark = signal(scheme.isDark());
  scheme.onChange(() => (isDark.value = scheme.isDark()));
  effect(() => {
    if (themeChoice.value === 'system') store.remove('theme');
    else store.write('theme', themeChoice.value);
  });
  const theme = computed(() => {
    if (themeChoice.value !== 'system') return themeChoice.value;
    return isDark.value ? 'dark' : 'light';
  });
  const toggleTheme = (): void => {
    const wanted = theme.value === 'dark' ? 'light' : 'dark';
    themeChoice.value = (wanted === 'dark') === isDark.value ? 'system' : wanted;
  };
  return { themeChoice, theme, toggleTheme };
}
