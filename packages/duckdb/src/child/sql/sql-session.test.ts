import { DuckDBInstance, DuckDBPreparedStatement } from '@duckdb/node-api';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createSessionConnections, createSqlSession } from './sql-session.ts';

test('the event loop turns while the types of many columns are read', async () => {
  const connections = createSessionConnections(await DuckDBInstance.create(':memory:'));
  const text = `SELECT ${Array.from({ length: 2000 }, (_, i) => `${i} AS c${i}`).join()}`;
  const types = vi.spyOn(DuckDBPreparedStatement.prototype, 'columnType');
  const perTurn: number[] = [];
  let turning = setImmediate(function turn() {
    perTurn.push(types.mock.calls.length);
    types.mockClear();
    turning = setImmediate(turn);
  });
  onTestFinished(() => clearImmediate(turning));
  onTestFinished(() => types.mockRestore());

  const { columns } = await createSqlSession(connections, { text, shift: 0, tables: [], columns: [] }).prepare();

  expect(columns).toHaveLength(2000);
  expect(Math.max(...perTurn, types.mock.calls.length)).toBeLessThan(500);
});
