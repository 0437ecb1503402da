import type { RowSource } from '../rows/row-source.ts';
import type { AppState } from '../state/app-state.ts';
import { filterSql, sortSql, type SqlRows } from '../state/rows-sql.ts';
import type { GridActions } from './Grid.tsx';

/** Returns the actions that make a new statement of the rows in a grid; `open` shows it. */
export function sqlActions(
  app: AppState,
  source: RowSource,
  rows: SqlRows,
  open: (sql: string) => void | Promise<void>,
): GridActions {
  const report = (error: unknown): void => app.notify(error instanceof Error ? error.message : String(error));
  const show = async (sql: string): Promise<void> => open(sql);
  return {
    sortBy: (index) => void show(sortSql(rows, index)).catch(report),
    filterEqual(index, row) {
      const cell = source.cell(row, index);
      if (cell === undefined) return;
      source
        .wholeText(row, index)
        .then((text) => {
          const sql = filterSql(rows, index, { look: cell.look, text });
          if (sql !== undefined) return show(sql);
          app.notify(`Rows cannot be filtered by a value of the type ${rows.columns[index]?.type}.`);
          return undefined;
        })
        .catch(report);
    },
  };
}
