import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Draft } from '../query/Draft.tsx';
import type { AppState, Banner } from '../state/app-state.ts';
import { canQuery } from '../state/server-state.ts';
import type { QueryTab } from '../state/tabs.ts';
import { FramePane } from './FramePane.tsx';
import { Header } from './Header.tsx';
import { Sidebar } from './Sidebar.tsx';
import { TabBar } from './TabBar.tsx';
import { useAppCommands, useKeys } from './app-commands.ts';
import { lazy } from '../widgets/lazy.tsx';
import { runTab } from './run-tab.ts';
import { Icon, IconButton } from '../widgets/Icon.tsx';
import { useNow } from '../widgets/hooks.ts';

const QueryPane = lazy(async () => (await import('../query/QueryPane.tsx')).QueryPane, LoadingQuery);

type AppProps = { readonly app: AppState };

// Not on the way to the first rows.
const EmptyServer = lazy<AppProps>(async () => (await import('./EmptyServer.tsx')).EmptyServer);
const NoEditor = lazy(async () => (await import('./EmptyServer.tsx')).NoEditor);
const DropArea = lazy<AppProps>(async () => (await import('./UploadTray.tsx')).DropArea, null);
const SignIn = lazy<AppProps>(async () => (await import('./sheets.tsx')).SignIn);
const UploadTray = lazy<AppProps>(async () => (await import('./UploadTray.tsx')).UploadTray);

/** The whole page. */
export function App({ app }: { readonly app: AppState }): JSX.Element {
  const isDrawerOpen = useSignal(false);
  useAppCommands(app, isDrawerOpen);
  useKeys(app);
  const { currentTab } = app;
  const tab = currentTab.value;
  const title = tab?.kind === 'frame' ? tab.handle : tab?.title;
  const isBusy = tab !== undefined && app.busyTabs.value.has(tab.id);
  useEffect(() => {
    isDrawerOpen.value = false;
  }, [tab?.id, isDrawerOpen]);
  useEffect(() => {
    document.title = `${isBusy ? '⏳ ' : ''}${title === undefined ? '' : `${title} · `}svc`;
  }, [title, isBusy]);
  return (
    <div class={isDrawerOpen.value ? 'app drawer-open' : 'app'}>
      <Header app={app} isDrawerOpen={isDrawerOpen} />
      <Sidebar app={app} onClose={() => (isDrawerOpen.value = false)} />
      <main class="work" tabIndex={-1} aria-label="Work area">
        <Banners app={app} />
        <TabBar app={app} />
        <TabBody app={app} />
      </main>
      {app.uploads.jobs.value.length > 0 && <UploadTray app={app} />}
      <DropArea app={app} />
      <Sheets app={app} />
      {app.connection.value === 'signed-out' && <SignIn app={app} />}
      <div class="off-screen" aria-live="polite">
        {app.announcement.value}
      </div>
    </div>
  );
}

/** What the current tab shows; without a tab, what can be done first. */
function TabBody({ app }: { readonly app: AppState }): JSX.Element | null {
  const tab = app.currentTab.value;
  if (tab === undefined) return <EmptyServer app={app} />;
  if (tab.kind === 'frame') return <FramePane key={tab.id} app={app} tab={tab} />;
  if (!canQuery(app.info.value)) return <NoEditor />;
  return <QueryPane key={tab.id} app={app} tab={tab} />;
}

/** Stands for a query tab whose code is loading. */
function LoadingQuery({ app, tab }: { readonly app: AppState; readonly tab: QueryTab }): JSX.Element {
  const run = (): void => {
    runTab(app, tab.id).catch(() => app.notify('This part of the console could not be loaded.'));
  };
  return <Draft app={app} tab={tab} onRun={run} />;
}

type SheetProps = { readonly app: AppState };

const Palette = lazy<SheetProps>(async () => (await import('./sheets.tsx')).Palette);
const Help = lazy<SheetProps>(async () => (await import('./sheets.tsx')).Help);
const UploadSheet = lazy<SheetProps>(async () => (await import('./UploadSheet.tsx')).UploadSheet);
const HistorySheet = lazy<SheetProps>(async () => (await import('./sheets.tsx')).HistorySheet);

const SHEETS = { palette: Palette, help: Help, upload: UploadSheet, history: HistorySheet };

/** The open dialog. Its code is loaded with its first use. */
function Sheets({ app }: SheetProps): JSX.Element | null {
  const Shown = app.sheet.value && SHEETS[app.sheet.value];
  return Shown === undefined ? null : <Shown app={app} />;
}

/** The lines above the page: a lost server, and other messages. */
function Banners({ app }: { readonly app: AppState }): JSX.Element {
  const banner = app.banner.value;
  return (
    <div class="banners" role="status">
      {app.connection.value === 'gone' && <GoneBanner app={app} />}
      {banner && <BannerLine banner={banner} onDismiss={() => (app.banner.value = undefined)} />}
      {app.notice.value && <p class="notice">{app.notice.value}</p>}
    </div>
  );
}

function GoneBanner({ app }: { readonly app: AppState }): JSX.Element {
  const nowMs = useNow(1000);
  const retryAtMs = app.retryAtMs.value;
  const seconds = retryAtMs === undefined ? 0 : Math.max(0, Math.ceil((retryAtMs - nowMs) / 1000));
  return (
    <div class="banner warning">
      <Icon name="warning" />
      <p>
        The server does not answer. What you typed is kept.{' '}
        <span aria-hidden="true">{seconds > 0 ? `Next try in ${seconds} s.` : 'Trying again…'}</span>
      </p>
      <button type="button" onClick={() => void app.refreshFrames()}>
        Try now
      </button>
    </div>
  );
}

function BannerLine({ banner, onDismiss }: { readonly banner: Banner; readonly onDismiss: () => void }): JSX.Element {
  const { tone, text, hint, action } = banner;
  return (
    <div class={`banner ${tone}`}>
      <Icon name={tone === 'info' ? 'info' : 'warning'} />
      <p>
        {text} {hint && <span class="hint">{hint}</span>}
      </p>
      {action && (
        <button type="button" onClick={action.run}>
          {action.title}
        </button>
      )}
      <IconButton icon="close" label="Dismiss" onClick={onDismiss} />
    </div>
  );
}
