import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Draft } from '../query/Draft.tsx';
import type { AppState } from '../state/app-state.ts';
import { canQuery } from '../state/permissions.ts';
import type { QueryTab } from '../state/tabs.ts';
import { Banners } from './Banners.tsx';
import { FramePane } from './FramePane.tsx';
import { Header } from './Header.tsx';
import { Sheets } from '../sheets/Sheets.tsx';
import { Sidebar } from './Sidebar.tsx';
import { TabBar } from './TabBar.tsx';
import { useAppCommands } from './app-commands.ts';
import { lazy } from './lazy.tsx';
import { loadQueryCode, runTab } from './run-tab.ts';
import { useKeys } from './use-keys.ts';

const QueryPane = lazy(async () => (await loadQueryCode()).QueryPane, LoadingQuery);

type AppProps = { readonly app: AppState };

// Not on the way to the first rows.
const EmptyServer = lazy<AppProps>(async () => (await import('./EmptyServer.tsx')).EmptyServer);
const NoEditor = lazy(async () => (await import('./EmptyServer.tsx')).NoEditor);
const DropArea = lazy<AppProps>(async () => (await import('./DropArea.tsx')).DropArea, null);
const SignIn = lazy<AppProps>(async () => (await import('../sheets/SignIn.tsx')).SignIn);
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
