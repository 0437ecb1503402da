import type { RowSource } from '../rows/row-source.ts';
import type { AppState } from '../state/app-state.ts';
import { filterSql, sortSql, type SqlRows } from '../state/rows-sql.ts';

/** The rows of a grid, and what shows a new statement over them. */
export interface SqlTarget {
  readonly app: AppState;
  readonly source: RowSource;
  readonly rows: SqlRows;
  readonly open: (sql: string) => void | Promise<void>;
}

/** Shows the rows sorted by a column. */
export async function sortRows({ rows, open }: SqlTarget, column: number): Promise<void> {
  await open(sortSql(rows, column));
}

/** Shows the rows with the value of a cell. */
export async function filterRows({ app, source, rows, open }: SqlTarget, column: number, row: number): Promise<void> {
  const cell = source.cell(row, column);
  if (cell === undefined) return;
  const sql = filterSql(rows, column, { look: cell.look, text: await source.wholeText(row, column) });
  if (sql === undefined) app.notify(`Rows cannot be filtered by a value of the type ${rows.columns[column]?.type}.`);
  else await open(sql);
}
