// SQL that changes frames, over Flight SQL, with the real engine.
import { Any, flightSql } from '@svc/proto';
import { Int64, Table, tableFromIPC, TimestampMillisecond, Utf8, vectorFromArray } from 'apache-arrow';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  commandOf,
  createFlightClient,
  type FlightClient,
  get,
  packed,
  put,
  queryOf,
} from '../../../packages/grpc/test/flight-client.ts';
import { createChannel } from 'nice-grpc';
import { sharedProcess, type ServerProcess } from './server-process.ts';

let server: ServerProcess;
let client: FlightClient;

beforeEach(async () => {
  server = await sharedProcess();
  const channel = createChannel(server.grpcAddress);
  onTestFinished(() => channel.close());
  client = createFlightClient(channel);
});

/** Runs a statement, and returns the number of rows that it stored. */
async function update(query: string): Promise<number> {
  const message = flightSql.CommandStatementUpdate.encode({ query, transactionId: undefined }).finish();
  const [result] = await put(client, commandOf('CommandStatementUpdate', message));
  return countOf(result);
}

function countOf(result: Uint8Array | undefined): number {
  return Number(flightSql.DoPutUpdateResult.decode(result ?? new Uint8Array(0)).recordCount);
}

async function prepare(query: string): Promise<flightSql.ActionCreatePreparedStatementResult> {
  const request = flightSql.ActionCreatePreparedStatementRequest.encode({ query, transactionId: undefined }).finish();
  const body = packed('ActionCreatePreparedStatementRequest', request);
  for await (const result of client.doAction({ type: 'CreatePreparedStatement', body })) {
    return flightSql.ActionCreatePreparedStatementResult.decode(Any.decode(result.body).value);
  }
  throw new Error('No statement was prepared.');
}

/** Runs a prepared statement with rows of values. */
async function updateWith(preparedStatementHandle: Uint8Array, rows: Table): Promise<number> {
  const message = flightSql.CommandPreparedStatementUpdate.encode({ preparedStatementHandle }).finish();
  const [result] = await put(client, commandOf('CommandPreparedStatementUpdate', message), rows);
  return countOf(result);
}

async function rowsOf(handle: string): Promise<unknown> {
  const { columns, dataset } = (await (await server.fetch(`/exec?handle=${handle}&fmt=json`)).json()) as {
    columns: { name: string; type: string }[];
    dataset: unknown[];
  };
  return { types: columns.map(({ name, type }) => `${name} ${type}`), dataset };
}

describe('CREATE TABLE with columns', () => {
  test('makes a frame without rows', async () => {
    const sql = 'CREATE TABLE made (id BIGINT NOT NULL, at TIMESTAMP, price DECIMAL(10,2), ok BIT(1), name VARCHAR(9))';
    expect(await update(sql)).toBe(0);
    expect(await rowsOf('made')).toEqual({
      types: ['id LONG', 'at TIMESTAMP', 'price DECIMAL(10,2)', 'ok BOOLEAN', 'name STRING'],
      dataset: [],
    });
    await expect(update(sql)).rejects.toMatchObject({ code: 6 });
    expect(await update(sql.replace('TABLE', 'TABLE IF NOT EXISTS'))).toBe(0);
  });

  test('of a type that does not exist is INVALID_ARGUMENT', async () => {
    await expect(update('CREATE TABLE odd (id NUMBR)')).rejects.toMatchObject({
      code: 3,
      details: expect.stringContaining('NUMBR'),
    });
    expect((await server.fetch('/frames/odd')).status).toBe(404);
  });
});

describe('INSERT INTO', () => {
  const COLUMNS = 'id BIGINT, at TIMESTAMP, price DOUBLE, name TEXT';

  test('appends values in the types of the frame', async () => {
    await update(`CREATE OR REPLACE TABLE ins (${COLUMNS})`);
    expect(await update("INSERT INTO ins VALUES (1, '2024-01-02 03:04:05', 1.5, 'a')")).toBe(1);
    expect(await update("INSERT INTO ins VALUES (2, DATE '2024-01-03', 2, NULL)")).toBe(1);
    expect(await update('INSERT INTO ins (name, id) SELECT upper(name), id + 10 FROM ins WHERE id = 1')).toBe(1);
    expect(await rowsOf('ins')).toEqual({
      types: ['id LONG', 'at TIMESTAMP', 'price DOUBLE', 'name STRING'],
      dataset: [
        [1, '2024-01-02T03:04:05.000000Z', 1.5, 'a'],
        [2, '2024-01-03T00:00:00.000000Z', 2, null],
        [11, null, null, 'A'],
      ],
    });
  });

  test.each([
    ['(1.5, NULL, 1, NULL)', 'Row 1, column "id": 1.5 is not exactly a LONG.'],
    ["(1, 'soon', 1, NULL)", 'Row 1, column "at": "soon" is not exactly a TIMESTAMP.'],
    ['(1, NULL, 1, 7)', 'Row 1, column "name": a value of the type INT is not a value of the type STRING.'],
    ['(1, NULL, 1)', 'The rows have 3 values, but 4 columns are to be filled.'],
    ['(1, NULL, nowhere, NULL)', 'nowhere'],
  ])('%s changes nothing', async (values, message) => {
    await update(`CREATE OR REPLACE TABLE ins (${COLUMNS})`);
    const failure = update(`INSERT INTO ins VALUES (7, NULL, 7, 'seven'), ${values}`);
    await expect(failure).rejects.toMatchObject({ code: 3 });
    await expect(update(`INSERT INTO ins VALUES ${values}`)).rejects.toMatchObject({
      code: 3,
      details: expect.stringContaining(message),
    });
    expect(await rowsOf('ins')).toMatchObject({ dataset: [] });
  });

  test.each([
    ['INSERT INTO nowhere VALUES (1)', 5, 'nowhere'],
    ['INSERT INTO ins (id, id) VALUES (1, 2)', 3, 'Column "id" is named twice.'],
    ['INSERT INTO ins (odd) VALUES (1)', 3, 'The frame has no column "odd".'],
    ['INSERT INTO ins BY NAME SELECT 1 AS id', 3, ''],
    ["INSERT INTO ins SELECT * FROM read_csv('/etc/passwd')", 7, ''],
    ['UPDATE ins SET id = 1', 7, 'UPDATE is not supported'],
    ['DELETE FROM ins', 7, 'DELETE is not supported'],
  ])('%s is refused', async (sql, code, message) => {
    await update(`CREATE OR REPLACE TABLE ins (${COLUMNS})`);
    await expect(update(sql)).rejects.toMatchObject({ code, details: expect.stringContaining(message) });
  });

  test('of parameters takes any number of rows, and appends them together', async () => {
    await update(`CREATE OR REPLACE TABLE ins (${COLUMNS})`);
    const prepared = await prepare('INSERT INTO ins (name, id, at) VALUES (?, ?, ?)');
    const { fields } = tableFromIPC(prepared.parameterSchema).schema;
    expect(fields.map(({ name, type }) => `${name} ${type}`)).toEqual([
      '1 Utf8',
      '2 Int64',
      '3 Timestamp<MILLISECOND>',
    ]);
    const count = 5000;
    const versionOf = async () => ((await (await server.fetch('/frames/ins')).json()) as { version: string }).version;
    const before = await versionOf();
    const rows = new Table({
      '1': vectorFromArray(
        Array.from({ length: count }, (_, i) => (i === 3 ? null : `n${i}`)),
        new Utf8(),
      ),
      '2': vectorFromArray(
        Array.from({ length: count }, (_, i) => BigInt(i)),
        new Int64(),
      ),
      '3': vectorFromArray(
        Array.from({ length: count }, (_, i) => i),
        new TimestampMillisecond(),
      ),
    });
    expect(await updateWith(prepared.preparedStatementHandle, rows)).toBe(count);
    expect(await versionOf()).not.toBe(before);
    const asked = 'select count(*), count(name), sum(id), max("at")::text from ins';
    const answer = await server.fetch(`/exec?engine=local&fmt=json&query=${encodeURIComponent(asked)}`);
    expect(await answer.json()).toMatchObject({ dataset: [[5000, 4999, 12497500, '1970-01-01 00:00:04.999']] });
  });

  test('whose rows have too few values is INVALID_ARGUMENT, and appends nothing', async () => {
    await update(`CREATE OR REPLACE TABLE ins (${COLUMNS})`);
    const { preparedStatementHandle } = await prepare('INSERT INTO ins (name, id) VALUES (?, ?)');
    const rows = new Table({ '1': vectorFromArray(['a', 'b'], new Utf8()) });
    await expect(updateWith(preparedStatementHandle, rows)).rejects.toMatchObject({ code: 3 });
    expect(await rowsOf('ins')).toMatchObject({ dataset: [] });
  });

  test('can be sent as a query, whose result is empty', async () => {
    await update(`CREATE OR REPLACE TABLE ins (${COLUMNS})`);
    expect((await get(client, queryOf('INSERT INTO ins (id) VALUES (5)'))).numRows).toBe(0);
    expect(await rowsOf('ins')).toMatchObject({ dataset: [[5, null, null, null]] });
  });
});

test('statements around others do nothing', async () => {
  for (const sql of ['BEGIN', 'COMMIT', 'ROLLBACK', "SET timezone='UTC'"]) {
    expect(await update(sql)).toBe(0);
    expect((await get(client, queryOf(sql))).numRows).toBe(0);
  }
});

describe('POST /frames/{handle} with SQL', () => {
  const append = (handle: string, request: object | string, headers = {}) =>
    server.fetch(`/frames/${handle}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof request === 'string' ? request : JSON.stringify(request),
    });

  test('appends the result of a query by the order of its columns', async () => {
    await update('CREATE OR REPLACE TABLE ins (id BIGINT, price DOUBLE, name TEXT)');
    const response = await append('ins', '{"sql":"select ?, 2.50, $2","params":[1,"a"]}');
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ handle: 'ins', rows: 1 });
    const request = { sql: "values ('b', 2), ('c', 3)", columns: ['name', 'id'], engine: 'local' };
    expect(await (await append('ins', request)).json()).toMatchObject({ rows: 3 });
    expect(await rowsOf('ins')).toMatchObject({
      dataset: [
        [1, 2.5, 'a'],
        [2, null, 'b'],
        [3, null, 'c'],
      ],
    });
  });

  test.each([
    ['a frame that does not exist', 'nowhere', { sql: 'select 1' }, 404, 'handle_not_found'],
    ['a value that does not fit', 'ins', { sql: 'select 1.5' }, 400, 'invalid_data'],
    ['too many columns', 'ins', { sql: 'select 1, 2' }, 400, 'invalid_argument'],
    ['SQL that does not parse', 'ins', { sql: 'selec 1' }, 400, 'invalid_sql'],
    ['SQL that writes', 'ins', { sql: 'insert into ins values (1)' }, 403, 'permission_denied'],
    ['an unknown key', 'ins', { sql: 'select 1', handle: 'ins' }, 400, 'invalid_argument'],
    ['a row instead of rows', 'ins', { id: 1 }, 400, 'invalid_argument'],
  ])('%s is refused, and appends nothing', async (_name, handle, request, status, code) => {
    await update('CREATE OR REPLACE TABLE ins (id BIGINT)');
    const response = await append(handle, request);
    expect([response.status, await response.json()]).toEqual([status, expect.objectContaining({ code })]);
    expect(await rowsOf('ins')).toMatchObject({ dataset: [] });
  });

  test.each([
    ['a condition', 'ins', { 'if-match': '*' }],
    ['a parameter', 'ins?ttl=5', {}],
  ])('%s is refused', async (_name, target, headers) => {
    await update('CREATE OR REPLACE TABLE ins (id BIGINT)');
    expect((await append(target, { sql: 'select 1' }, headers)).status).toBe(400);
    expect(await rowsOf('ins')).toMatchObject({ dataset: [] });
  });
});

test('ALTER TABLE renames a frame and keeps its expiry', async () => {
  await server.put('from', [{ id: 1 }], { query: '?ttl=3600' });
  const infoOf = async (handle: string) => (await (await server.fetch(`/frames/${handle}`)).json()) as object;
  const { expires } = (await infoOf('from')) as { expires: string };
  await update('DROP TABLE IF EXISTS "to"');
  expect(await update('ALTER TABLE "from" RENAME TO "to"')).toBe(0);
  expect(await infoOf('to')).toMatchObject({ handle: 'to', rows: 1, expires });
  expect(await rowsOf('to')).toMatchObject({ dataset: [[1]] });
  expect((await server.fetch('/exec?handle=from&fmt=json')).status).toBe(404);
  await expect(update('ALTER TABLE "from" RENAME TO other')).rejects.toMatchObject({ code: 5 });
  await expect(update('ALTER TABLE "to" RENAME TO "to"')).rejects.toMatchObject({
    code: 6,
    details: expect.stringContaining('The frame "to" has this name already.'),
  });
});

test('/exec does not write', async () => {
  await update('CREATE OR REPLACE TABLE ins (id BIGINT)');
  const statements = ['INSERT INTO ins VALUES (1)', 'CREATE TABLE other (id INT)', 'DROP TABLE ins'];
  for (const sql of [...statements, 'ALTER TABLE ins RENAME TO other']) {
    const { status } = await server.fetch(`/exec?engine=local&fmt=json&query=${encodeURIComponent(sql)}`);
    expect(status).toBe(403);
  }
  expect(await rowsOf('ins')).toMatchObject({ dataset: [] });
});
