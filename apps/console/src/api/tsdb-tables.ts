import type { Api } from './api.ts';
import { askTable } from './table.ts';
import { quotedText } from '../state/quote-name.ts';
import type { ColumnInfo } from './types.ts';

const MAX_TABLES = 1000;
const MAX_COLUMNS = 1000;

/** Returns the names of the tables of the time-series database, sorted. */
export async function readTsdbTables(api: Api, signal?: AbortSignal): Promise<readonly string[]> {
  const sql = `select table_name from tables() order by table_name limit ${MAX_TABLES}`;
  const { rows } = await askTable(api, sql, { engine: 'tsdb', signal });
  return rows.map(([name]) => String(name));
}

/** Returns the columns of a table of the time-series database. */
export async function readTsdbColumns(api: Api, table: string, signal?: AbortSignal): Promise<readonly ColumnInfo[]> {
  const sql = `select "column", type from table_columns(${quotedText(table)}) limit ${MAX_COLUMNS}`;
  const { rows } = await askTable(api, sql, { engine: 'tsdb', signal });
  return rows.map(([name, type]) => ({ name: String(name), type: String(type) }));
}
