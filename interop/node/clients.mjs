// What works with Flight SQL clients of npm: each line of the output is a part of a row of the table in docs/clients.md. The
// arguments: the folder of their packages, and the address of the server.
import { deepEqual, equal, rejects } from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder = '', address = ''] = process.argv.slice(2);
const require = createRequire(join(folder, 'package.json'));
const [host, port] = address.split(':');

/** Runs steps, and prints what they show. */
async function show(client, steps) {
  for (const [kind, what, step] of steps) {
    await step();
    console.log(JSON.stringify({ client, kind, what }));
  }
}

async function showGizmo() {
  const { FlightSQLClient } = await import(pathToFileURL(require.resolve('@gizmodata/gizmosql-client')).href);
  const client = new FlightSQLClient({ host, port: Number(port), plaintext: true });
  const rows = async (sql) => (await client.execute(sql)).toArray().map((row) => row.toJSON());
  await show('@gizmodata/gizmosql-client', [
    [
      'works',
      'queries, as Arrow tables; `CREATE TABLE`, `INSERT`, `DROP TABLE`',
      async () => {
        await client.execute('CREATE OR REPLACE TABLE node_g (id BIGINT, name VARCHAR)');
        await client.execute("INSERT INTO node_g SELECT range, 'n' || range FROM range(100000)");
        deepEqual(await rows('SELECT count(*) AS n, max(name) AS name FROM node_g'), [{ n: 100_000n, name: 'n99999' }]);
        equal((await rows('FROM node_g')).length, 100_000);
      },
    ],
    [
      'works',
      'metadata: catalogs, schemas, tables',
      async () => {
        const tables = await client.getTables();
        deepEqual(
          tables.find(({ tableName }) => tableName === 'node_g'),
          { catalog: 'memory', schema: 'main', tableName: 'node_g', tableType: 'TABLE' },
        );
        deepEqual(await client.getCatalogs(), ['memory']);
        deepEqual(await client.getSchemas(), [{ catalog: 'memory', schema: 'main' }]);
        await client.execute('DROP TABLE node_g');
      },
    ],
    ['works', 'errors, with their message', () => rejects(rows('SELECT * FROM nope'), /There is no frame "nope"/)],
    [
      'lacks',
      'parameters: its `prepare` fails before it sends a request',
      () => rejects(client.prepare('SELECT ?'), /serialization failure/),
    ],
  ]);
  await client.close();
}

async function showLakehouse() {
  const { createFlightSqlClient } = require('@lakehouse-rs/flight-sql-client');
  const { tableFromIPC } = require('apache-arrow');
  const client = await createFlightSqlClient({ host, port: Number(port), tls: false, headers: [] });
  const rowsOf = (bytes) =>
    tableFromIPC(bytes)
      .toArray()
      .map((row) => row.toJSON());
  await show('@lakehouse-rs/flight-sql-client', [
    [
      'works',
      'queries, as Arrow IPC; `CREATE TABLE`, `INSERT`, `DROP TABLE`',
      async () => {
        await client.query('CREATE OR REPLACE TABLE node_l (id BIGINT, name VARCHAR)');
        await client.query("INSERT INTO node_l SELECT range, 'n' || range FROM range(100000)");
        const sql = 'SELECT count(*) AS n, max(name) AS name FROM node_l';
        deepEqual(rowsOf(await client.query(sql)), [{ n: 100_000n, name: 'n99999' }]);
      },
    ],
    [
      'works',
      'metadata: catalogs, schemas, tables with their columns',
      async () => {
        deepEqual(rowsOf(await client.getCatalogs()), [{ catalog_name: 'memory' }]);
        deepEqual(rowsOf(await client.getDbSchemas({})), [{ catalog_name: 'memory', db_schema_name: 'main' }]);
        const tables = await client.getTables({ tableNameFilterPattern: 'node\\_l', includeSchema: true });
        deepEqual(
          rowsOf(tables).map((row) => row['table_name']),
          ['node_l'],
        );
        await client.query('DROP TABLE node_l');
      },
    ],
    [
      'lacks',
      'the message of an error: it says only `failed to prepare statement`',
      () => rejects(client.query('SELECT * FROM nope'), { message: 'failed to prepare statement' }),
    ],
    ['lacks', 'parameters', async () => equal(client.prepare, undefined)],
  ]);
}

await showGizmo();
await showLakehouse();
