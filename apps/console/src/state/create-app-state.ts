import { computed, effect, signal, untracked } from '@preact/signals';
import { createApi } from '../api/api.ts';
import type { EngineName, ServerInfo } from '../api/types.ts';
import type { AppState, Banner, Sheet, ThemeChoice } from './app-state.ts';
import { createCommands } from './commands.ts';
import { createHistory } from './history.ts';
import { createServerState } from './server-state.ts';
import { createStore, type StorageArea, type Store } from './store.ts';
import { createTabList } from './tab-list.ts';
import type { Tab } from './tabs.ts';
import { createUploads } from './uploads.ts';

/** How long a notice is shown. */
const NOTICE_MS = 5000;

/** What the state takes from the browser. */
export interface AppStateOptions {
  /** The address of the API. */
  readonly base: URL;
  readonly send: typeof fetch;
  /** Kept until the browser's tab is closed. It comes first, so that two of the browser's tabs do not share theirs. */
  readonly session: StorageArea;
  /** Kept for good. */
  readonly local: StorageArea;
  /** Whether the operating system prefers dark colours. */
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
    // A link that was opened before the server knew its caller belongs to the one who has signed in.
    untracked(() => linked.splice(0).forEach(tabs.open));
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
    tabs: tabs.tabs,
    currentTab: tabs.current,
    selectTab: tabs.select,
    stepTab: tabs.step,
    closeTab: tabs.close,
    reopenTab: tabs.reopen,
    openTab(tab) {
      if (server.info.peek() === undefined) linked.push(tab);
      tabs.open(tab);
    },
    openFrame: tabs.openFrame,
    openQuery: (sql, engine) => tabs.openQuery(sql, engine ?? firstEngine(server.info.value)),
    updateTab: tabs.update,
    flush: tabs.flush,
    setView: tabs.setView,
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

/** Whether the operating system prefers dark colours, and a way to follow it. */
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
