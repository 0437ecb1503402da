import { effect } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { FrameInfo } from '../api/types.ts';
import { Grid, type GridActions } from '../grid/Grid.tsx';
import { sqlActions } from '../grid/sql-actions.ts';
import { createFrameRows } from '../rows/frame-rows.ts';
import type { RowSource } from '../rows/row-source.ts';
import type { AppState } from '../state/app-state.ts';
import { quoteName } from '../state/quote-name.ts';
import { runNewQuery } from './run-tab.ts';
import { hasLocalSql } from '../state/permissions.ts';

interface RowsProps {
  readonly app: AppState;
  /** The version that is shown. */
  readonly frame: FrameInfo;
}

/** The rows of a frame, from the first to the last: only those in view are loaded. */
export function FrameRows({ app, frame }: RowsProps): JSX.Element {
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

/** The rows of the queries that are made from the grid. */
const QUERY_ROWS = 1000;

function actionsOf(app: AppState, frame: FrameInfo, source: RowSource): GridActions {
  if (!hasLocalSql(app.info.value)) return {};
  const { handle, columns } = frame;
  const rows = { from: quoteName(handle), columns, engine: 'local', limit: QUERY_ROWS } as const;
  return sqlActions({ app, source, rows, open: (sql) => runNewQuery(app, sql) });
}
