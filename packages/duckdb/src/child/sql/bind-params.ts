import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api';
import type { SqlParam } from '../../wire/sql-requests.ts';

/** Binds the parameters of a statement. DuckDB itself converts each text to its type. */
export async function bindParams(
  connection: DuckDBConnection,
  prepared: DuckDBPreparedStatement,
  params: readonly SqlParam[],
): Promise<void> {
  for (const [i, { type, text }] of params.entries()) {
    if (text === null) prepared.bindNull(i + 1);
    else if (type === 'VARCHAR') prepared.bindVarchar(i + 1, text);
    else if (type === 'BASE64') prepared.bindBlob(i + 1, Buffer.from(text, 'base64'));
    else await bindAs(connection, prepared, i + 1, { type, text });
  }
}

async function bindAs(
  connection: DuckDBConnection,
  prepared: DuckDBPreparedStatement,
  index: number,
  { type, text }: SqlParam & { readonly text: string },
): Promise<void> {
  const cast = await connection.prepare(`SELECT CAST($1::VARCHAR AS ${type})`);
  cast.bindVarchar(1, text);
  const result = await cast.run();
  const [[value = null] = []] = await result.getRows();
  prepared.bindValue(index, value, result.columnType(0));
}
