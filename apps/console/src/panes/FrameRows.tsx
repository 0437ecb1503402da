import { effect } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { FrameInfo } from '../api/types.ts';
import { Grid, type GridActions } from '../grid/Grid.tsx';
import { createFrameRows } from '../rows/frame-rows.ts';
import type { RowSource } from '../rows/row-source.ts';
import type { AppState } from '../state/app-state.ts';
import { filterSql, sortSql } from '../state/frame-sql.ts';

interface RowsProps {
  readonly app: AppState;
  /** The version that is shown. */
  readonly frame: FrameInfo;
}

/** The rows of a frame, from the first to the last: only those in view are loaded. */
export function FrameRows({ app, frame }: RowsProps): JSX.Element {
  const maxRows = app.info.value?.limits.maxRows ?? null;
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

function actionsOf(app: AppState, frame: FrameInfo, source: RowSource): GridActions {
  if (app.info.value?.engines.includes('local') !== true) return {};
  const run = async (sql: string): Promise<void> => (await import('./run-new-query.ts')).runNewQuery(app, sql);
  const report = (error: unknown): void => app.notify(error instanceof Error ? error.message : String(error));
  return {
    sortBy(index) {
      const column = frame.columns[index];
      if (column) void run(sortSql(frame.handle, column)).catch(report);
    },
    filterEqual(index, row) {
      const column = frame.columns[index];
      const cell = source.cell(row, index);
      if (column === undefined || cell === undefined) return;
      source
        .wholeText(row, index)
        .then((text) => {
          const sql = filterSql(frame.handle, column, { look: cell.look, text });
          if (sql === undefined) app.notify(`Rows cannot be filtered by a value of the type ${column.type}.`);
          return sql === undefined ? undefined : run(sql);
        })
        .catch(report);
    },
  };
}
