import { status as Status } from '@grpc/grpc-js';
import { flight, flightSql } from '@svc/proto';
import { type Field, Int64, Table, tableFromIPC, vectorFromArray } from 'apache-arrow';
import { createChannel } from 'nice-grpc';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { commandOf, createFlightClient, get, pathOf, put, rowsOf } from '../../test/flight-client.ts';
import { collect, failureOf, startServer } from '../../test/start-server.ts';

let sql: ReturnType<typeof createFlightClient>;

beforeAll(async () => {
  const ends: (() => Promise<void>)[] = [];
  sql = await startSql((end) => void ends.push(end));
  return async () => {
    for (const end of ends) await end();
  };
});

async function startSql(onEnd?: (end: () => Promise<void>) => void) {
  const { channel } = await startServer(onEnd && { onEnd });
  const client = createFlightClient(channel);
  for (const handle of ['trades', 'quotes']) {
    await put(client, pathOf(handle), new Table({ id: vectorFromArray([1n], new Int64()) }));
  }
  return client;
}

const tablesOf = (asked: Parameters<typeof flightSql.CommandGetTables.fromPartial>[0]) =>
  commandOf(
    'CommandGetTables',
    flightSql.CommandGetTables.encode(flightSql.CommandGetTables.fromPartial(asked)).finish(),
  );

describe('tables', () => {
  test('are the frames', async () => {
    expect(rowsOf(await get(sql, tablesOf({})))).toEqual(
      ['quotes', 'trades'].map((table_name) => ({
        catalog_name: 'memory',
        db_schema_name: 'main',
        table_name,
        table_type: 'TABLE',
      })),
    );
  });

  test.each([
    ['ADBC Flight SQL Driver v1.13.0', 'table'],
    ['JDBC Flight SQL Driver', 'TABLE'],
  ])('have the type that drivers like %s expect: %s', async (userAgent, type) => {
    const { port } = await startServer();
    const channel = createChannel(`127.0.0.1:${port}`, undefined, { 'grpc.primary_user_agent': userAgent });
    onTestFinished(() => channel.close());
    const client = createFlightClient(channel);
    await put(client, pathOf('trades'), new Table({ id: vectorFromArray([1n], new Int64()) }));
    for (const command of [tablesOf({}), tablesOf({ includeSchema: true }), commandOf('CommandGetTableTypes')]) {
      expect((await get(client, command)).getChild('table_type')?.toArray()).toEqual([type]);
    }
  });

  test.each([
    [{ tableNameFilterPattern: 'tr%' }, ['trades']],
    [{ tableTypes: ['VIEW'] }, []],
    [{ tableTypes: ['VIEW', 'TABLE'] }, ['quotes', 'trades']],
    [{ tableTypes: ['BASE TABLE', 'table'] }, ['quotes', 'trades']],
    [{ catalog: 'memory' }, ['quotes', 'trades']],
    [{ catalog: '' }, []],
    [{ catalog: 'other' }, []],
    [{ dbSchemaFilterPattern: 'ma%' }, ['quotes', 'trades']],
    [{ dbSchemaFilterPattern: 'x' }, []],
  ])('with %o are %o', async (asked, names) => {
    const table = await get(sql, tablesOf(asked));
    expect([...(table.getChild('table_name') ?? [])]).toEqual(names);
  });

  test('have their schemas if these are requested', async () => {
    const table = await get(sql, tablesOf({ includeSchema: true, tableNameFilterPattern: 'trades' }));
    const schema: Uint8Array = table.getChild('table_schema')?.get(0);
    const { fields } = tableFromIPC(schema).schema;
    expect(fields.map(String)).toEqual(['id: Int64']);
    expect(Object.fromEntries(fields[0]?.metadata ?? [])).toEqual({
      'ARROW:FLIGHT:SQL:CATALOG_NAME': 'memory',
      'ARROW:FLIGHT:SQL:SCHEMA_NAME': 'main',
      'ARROW:FLIGHT:SQL:TABLE_NAME': 'trades',
      'ARROW:FLIGHT:SQL:TYPE_NAME': 'BIGINT',
      'ARROW:FLIGHT:SQL:PRECISION': '19',
      'ARROW:FLIGHT:SQL:SCALE': '0',
      'ARROW:FLIGHT:SQL:IS_AUTO_INCREMENT': '0',
      'ARROW:FLIGHT:SQL:IS_CASE_SENSITIVE': '0',
      'ARROW:FLIGHT:SQL:IS_READ_ONLY': '1',
      'ARROW:FLIGHT:SQL:IS_SEARCHABLE': '1',
    });
  });

  test('have their columns under their SQL names', async () => {
    const client = await startSql();
    const one = vectorFromArray([1n], new Int64());
    await put(client, pathOf('times'), new Table({ p95: one, P95: one, id: one }));
    const table = await get(client, tablesOf({ includeSchema: true, tableNameFilterPattern: 'times' }));
    const schema: Uint8Array = table.getChild('table_schema')?.get(0);
    expect(tableFromIPC(schema).schema.names).toEqual(['p95_0', 'P95_1', 'id']);
  });
});

test.each([
  ['CommandGetCatalogs', [{ catalog_name: 'memory' }]],
  ['CommandGetDbSchemas', [{ catalog_name: 'memory', db_schema_name: 'main' }]],
  ['CommandGetTableTypes', [{ table_type: 'TABLE' }]],
  ['CommandGetPrimaryKeys', []],
  ['CommandGetExportedKeys', []],
  ['CommandGetImportedKeys', []],
  ['CommandGetCrossReference', []],
])('%s answers %o, with the schema it announces', async (name, rows) => {
  const table = await get(sql, commandOf(name));
  expect(rowsOf(table)).toEqual(rows);
  const announced = tableFromIPC((await sql.getSchema(commandOf(name))).schema).schema;
  expect(table.schema.fields.map((field) => [String(field), field.nullable])).toEqual(
    announced.fields.map((field) => [String(field), field.nullable]),
  );
});

describe('types', () => {
  const typesOf = (dataType?: number) =>
    commandOf('CommandGetXdbcTypeInfo', flightSql.CommandGetXdbcTypeInfo.encode({ dataType }).finish());

  test('are sorted by their numbers, and each has a name', async () => {
    const table = await get(sql, typesOf());
    const codes = [...(table.getChild('data_type') ?? [])];
    expect(codes).toEqual(codes.toSorted((a, b) => a - b));
    expect(new Set(table.getChild('type_name')).size).toBe(table.numRows);
  });

  test('are only those with the given number', async () => {
    const table = await get(sql, typesOf(-5));
    expect([...(table.getChild('type_name') ?? [])]).toEqual(['BIGINT', 'UBIGINT']);
  });
});

describe('SQL info values', () => {
  const infoOf = (...info: number[]) =>
    commandOf('CommandGetSqlInfo', flightSql.CommandGetSqlInfo.encode({ info }).finish());

  test('are all returned if none is named', async () => {
    const table = await get(sql, infoOf());
    const numbers = [...(table.getChild('info_name') ?? [])];
    const syntax = Array.from({ length: 77 }, (_, i) => 500 + i);
    expect(numbers).toEqual([0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 100, 101, ...syntax]);
  });

  test('are never null, and their schema says so', async () => {
    const { schema } = await get(sql, infoOf());
    const kinds: readonly Field[] = schema.fields[1]?.type.children ?? [];
    expect([kinds.length, kinds.filter(({ nullable }) => nullable)]).toEqual([6, []]);
  });

  test('have values of every kind', async () => {
    const table = await get(sql, infoOf(0, 4, 8, 509, 517, 559, 99_999));
    const values = Object.fromEntries(
      rowsOf(table).map((row) => Object.values(row as object) as [number, { toArray?: () => unknown[] }]),
    );
    expect([values[0], values[4], values[8], values[559]]).toEqual(['Data-frame server', true, 0, 128n]);
    expect(Object.keys(values)).toHaveLength(6);
  });
});

describe('sessions', () => {
  const set = (options: Record<string, object>) =>
    flight.SetSessionOptionsRequest.encode({
      sessionOptions: new Map(
        Object.entries(options).map(([name, value]) => [name, flight.SessionOptionValue.fromPartial(value)]),
      ),
    }).finish();

  test('have the options catalog, schema and engine, and no other', async () => {
    const act = async (type: string, body: Uint8Array = new Uint8Array(0)) =>
      (await collect(sql.doAction({ type, body })))[0]?.body ?? new Uint8Array(0);
    const options = { catalog: { stringValue: 'memory' }, schema: { stringValue: 'x' }, color: { boolValue: true } };
    const { errors } = flight.SetSessionOptionsResult.decode(await act('SetSessionOptions', set(options)));
    expect(Object.fromEntries(errors)).toEqual({ schema: { value: 2 }, color: { value: 1 } });
    const { sessionOptions } = flight.GetSessionOptionsResult.decode(await act('GetSessionOptions'));
    expect([...sessionOptions].map(([name, { stringValue }]) => [name, stringValue])).toEqual([
      ['catalog', 'memory'],
      ['schema', 'main'],
      ['engine', 'local'],
    ]);
    expect(flight.CloseSessionResult.decode(await act('CloseSession')).status).toBe(1);
  });

  test.each([
    ['CreatePreparedStatement', 'INVALID_ARGUMENT'],
    ['SetSessionOptions', 'INVALID_ARGUMENT'],
    ['BeginTransaction', 'UNIMPLEMENTED'],
    ['EndTransaction', 'UNIMPLEMENTED'],
    ['BeginSavepoint', 'UNIMPLEMENTED'],
    ['CreatePreparedSubstraitPlan', 'UNIMPLEMENTED'],
  ] as const)('%s of noise is %s', async (type, status) => {
    const body = Buffer.alloc(40, 0xfd);
    const failure = await failureOf((options) => collect(sql.doAction({ type, body }, options)));
    expect(failure.code).toBe(Status[status]);
  });
});
