import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { ChartPaneProps } from '../chart/ChartPane.tsx';
import type { FrameInfo } from '../api/types.ts';
import type { AppState } from '../state/app-state.ts';
import { countOf, formatBytes } from '../state/format.ts';
import type { FrameTab } from '../state/tabs.ts';
import type { SummaryPaneProps } from '../summary/SummaryPane.tsx';
import { FrameRows } from './FrameRows.tsx';
import { Icon } from './Icon.tsx';
import { Key } from './Key.tsx';
import { lazy } from './lazy.tsx';
import { useCommands } from './use-commands.ts';
import { viewPanelId, ViewTabs, viewTabId, type ViewChoice } from './ViewTabs.tsx';
import { hasLocalSql } from '../state/permissions.ts';
import { quotedName } from '../state/quote-name.ts';

interface PaneProps {
  readonly app: AppState;
  readonly tab: FrameTab;
}

const InfoPane = lazy<{ app: AppState; frame: FrameInfo }>(async () => (await import('./InfoPane.tsx')).InfoPane);
const MissingFrame = lazy<PaneProps>(async () => (await import('./EmptyServer.tsx')).MissingFrame);
const ChartPane = lazy<ChartPaneProps>(async () => (await import('../chart/ChartPane.tsx')).ChartPane);
const SummaryPane = lazy<SummaryPaneProps>(async () => (await import('../summary/SummaryPane.tsx')).SummaryPane);

const VIEWS: readonly ViewChoice[] = [
  { view: 'rows', title: 'Rows' },
  { view: 'chart', title: 'Chart' },
  { view: 'summary', title: 'Summary' },
  { view: 'info', title: 'Info' },
];

/** Charts and summaries are SQL: a server without an engine has none. */
const VIEWS_WITHOUT_SQL = VIEWS.filter(({ view }) => view === 'rows' || view === 'info');

/** The tab of a frame: its rows at once, and what can be made of them. */
export function FramePane({ app, tab }: PaneProps): JSX.Element {
  const frame = app.frames.value.find(({ handle }) => handle === tab.handle);
  if (frame === undefined || frame.rows === null) return <MissingFrame app={app} tab={tab} />;
  return <PresentFrame app={app} tab={tab} frame={frame} />;
}

/** The version that was opened is shown until the user asks for the newer one: rows of two are never mixed. */
function PresentFrame({ app, tab, frame }: PaneProps & { readonly frame: FrameInfo }): JSX.Element {
  const opened = useSignal(frame);
  const isOutdated = opened.value.version !== frame.version;
  // When it expires and where it is can change without a new version.
  const shown = isOutdated ? opened.value : frame;
  const reload = (): void | false => {
    if (!isOutdated) return false;
    opened.value = frame;
  };
  useCommands(
    app,
    [
      {
        id: 'frame.reload',
        title: 'Show the newer version of the frame',
        key: 'r',
        group: 'Frame',
        isListed: false,
        run: reload,
      },
      {
        id: 'frame.download',
        title: 'Download the frame',
        key: 'd',
        group: 'Frame',
        run: () => app.setView(tab.id, 'info'),
      },
    ],
    [tab.id, frame.version, opened.value.version],
  );
  useEffect(() => {
    if (isOutdated) app.announce(`A newer version of ${tab.handle} is there.`);
  }, [app, tab.handle, isOutdated]);
  const views = hasLocalSql(app.info.value) ? VIEWS : VIEWS_WITHOUT_SQL;
  return (
    <section class="frame-pane" aria-label={`Frame ${tab.handle}`}>
      <div class="view-bar">
        <ViewTabs key={views.length} app={app} tab={tab} views={views} />
        <span class="facts">
          {countOf(shown.rows, 'row')}
          <span class="more">
            {' '}
            × {countOf(shown.columns.length, 'column')} · {formatBytes(shown.bytes)}
          </span>
        </span>
      </div>
      {isOutdated && (
        <div class="banner info" role="status">
          <Icon name="refresh" />
          <p>A newer version is there: {countOf(frame.rows, 'row')}.</p>
          <button type="button" onClick={reload}>
            Reload <Key of="r" />
          </button>
        </div>
      )}
      <ViewPanel tab={tab}>
        <FrameView
          key={shown.version}
          app={app}
          tab={views.some(({ view }) => view === tab.view) ? tab : { ...tab, view: 'rows' }}
          frame={shown}
        />
      </ViewPanel>
    </section>
  );
}

function FrameView({ app, tab, frame }: PaneProps & { readonly frame: FrameInfo }): JSX.Element {
  const source = { columns: frame.columns, from: quotedName(frame.handle), engine: 'local' as const, frame };
  if (tab.view === 'rows') return <FrameRows app={app} frame={frame} />;
  if (tab.view === 'summary') return <SummaryPane app={app} source={source} rowCount={frame.rows} />;
  if (tab.view === 'info') return <InfoPane app={app} frame={frame} />;
  return (
    <ChartPane app={app} data={source} choice={tab.chart} onChoice={(chart) => app.updateTab(tab.id, { chart })} />
  );
}

function ViewPanel({ tab, children }: { readonly tab: FrameTab; readonly children: ComponentChildren }): JSX.Element {
  return (
    <div
      class="view-panel"
      role="tabpanel"
      id={viewPanelId(tab)}
      aria-labelledby={viewTabId(tab, tab.view)}
      data-area="view"
      tabIndex={-1}
    >
      {children}
    </div>
  );
}
