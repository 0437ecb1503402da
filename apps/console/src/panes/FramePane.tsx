import { useCommands } from '../widgets/hooks.ts';
import { effect, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { ChartPaneProps } from '../chart/ChartPane.tsx';
import type { FrameInfo } from '../api/api.ts';
import type { AppState } from '../state/app-state.ts';
import { countOf, formatBytes } from '../state/format.ts';
import type { FrameTab } from '../state/tabs.ts';
import type { SummaryPaneProps } from '../chart/SummaryPane.tsx';
import { Icon } from '../widgets/Icon.tsx';
import { Key } from '../widgets/Key.tsx';
import { lazy } from '../widgets/lazy.tsx';
import { type ViewChoice, ViewPanel, ViewTabs } from '../widgets/ViewTabs.tsx';
import { hasLocalSql } from '../state/server-state.ts';
import { quotedName, quoteName } from '../state/quote-name.ts';
import { Grid, type GridActions, sqlActions } from '../grid/Grid.tsx';
import { createFrameRows } from '../rows/frame-rows.ts';
import type { RowSource } from '../rows/row-source.ts';
import { runNewQuery } from './run-tab.ts';

interface PaneProps {
  readonly app: AppState;
  readonly tab: FrameTab;
}

interface FrameProps extends PaneProps {
  /** The version on the page. */
  readonly frame: FrameInfo;
}

const InfoPane = lazy<{ app: AppState; frame: FrameInfo }>(async () => (await import('./InfoPane.tsx')).InfoPane);
const MissingFrame = lazy<PaneProps>(async () => (await import('./EmptyServer.tsx')).MissingFrame);
const ChartPane = lazy<ChartPaneProps>(async () => (await import('../chart/ChartPane.tsx')).ChartPane);
const SummaryPane = lazy<SummaryPaneProps>(async () => (await import('../chart/SummaryPane.tsx')).SummaryPane);

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

/** The opened version is shown until the user asks for the newer one: rows of two are never mixed. */
function PresentFrame({ app, tab, frame }: FrameProps): JSX.Element {
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

function FrameView({ app, tab, frame }: FrameProps): JSX.Element {
  const source = { columns: frame.columns, from: quotedName(frame.handle), engine: 'local' as const, frame };
  if (tab.view === 'rows') return <FrameRows app={app} frame={frame} />;
  if (tab.view === 'summary') return <SummaryPane app={app} source={source} rowCount={frame.rows} />;
  if (tab.view === 'info') return <InfoPane app={app} frame={frame} />;
  return (
    <ChartPane app={app} data={source} choice={tab.chart} onChoice={(chart) => app.updateTab(tab.id, { chart })} />
  );
}

/** The rows of a frame, from the first to the last: only those in view are loaded. */
function FrameRows({ app, frame }: Pick<FrameProps, 'app' | 'frame'>): JSX.Element {
  const maxRows = app.info.value?.limits.maxRows ?? null;
  // oxlint-disable-next-line react-hooks/exhaustive-deps -- the expiry of a version can change, its rows cannot
  const source = useMemo(() => createFrameRows(app.api, frame, maxRows), [app, frame.handle, frame.version, maxRows]);
  useEffect(() => () => source.close(), [source]);
  useEffect(() => follow(app, source), [app, source]);
  return <Grid source={source} label={`Rows of ${frame.handle}`} actions={actionsOf(app, frame, source)} />;
}

/** Loads rows again when the server is back, and the list of frames when the frame was replaced. */
function follow(app: AppState, source: RowSource): () => void {
  let wasGone = false;
  const stops = [
    effect(() => {
      const isGone = app.connection.value !== 'ready';
      if (wasGone && !isGone && source.failure.peek() !== undefined) source.retry();
      wasGone = isGone;
    }),
    effect(() => {
      if (source.isOutdated.value) void app.refreshFrames();
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** The limit of queries made from the grid. */
const QUERY_ROWS = 1000;

function actionsOf(app: AppState, frame: FrameInfo, source: RowSource): GridActions {
  if (!hasLocalSql(app.info.value)) return {};
  const { handle, columns } = frame;
  const rows = { from: quoteName(handle), columns, engine: 'local', limit: QUERY_ROWS } as const;
  return sqlActions({ app, source, rows, open: (sql) => runNewQuery(app, sql) });
}
