import { expect, test } from 'vitest';
import type { ServerProcess } from '../../apps/server/test/server-process.ts';
import { fail, run, send } from './exec.ts';
import { frameOfEveryType, onCluster, unquoted } from './every-type.ts';

/** What a cluster can do. */
export interface ClusterContractOptions {
  /** The server whose scheduler it is. */
  readonly server: () => ServerProcess;
  readonly hasTime: boolean;
  /** The samples that the cluster cannot read. */
  readonly isLeftOut: (sample: string) => boolean;
  /** Whether its errors have a SQLSTATE and a position for each. */
  readonly namesErrors: boolean;
}

/** The facts that hold on every cluster. */
export function clusterContract(options: ClusterContractOptions): void {
  sameValues(options);
  sameAnswers(options);
  oneVersion(options);
  errors(options);
}

function sameValues({ server, hasTime, isLeftOut }: ClusterContractOptions): void {
  test('a value of every type is the one that the local engine returns, or its documented form', async () => {
    const { bytes, columns } = await frameOfEveryType(isLeftOut);
    const put = await server().fetch('/frames/types', {
      method: 'PUT',
      body: bytes,
      headers: { 'content-type': 'application/vnd.apache.arrow.stream' },
    });
    expect(put.status, `The upload: ${await put.text()}`).toBe(201);
    const sql = 'select * from types';
    const [local, cluster] = [await run(server(), 'local', sql), await run(server(), 'scheduler', sql)];
    expect(cluster.dataset).toHaveLength(19);
    expect(columns.length).toBeGreaterThan(50);
    for (const [i, column] of columns.entries()) {
      const isText = column.field.type.scale < 0;
      const seen = cluster.dataset.map((row) => (isText && row[i] !== null ? String(Number(row[i])) : row[i]));
      const expected = local.dataset.map((row, at) => onCluster(column, { row: at, local: row[i], hasTime }));
      expect(unquoted(seen), `The column ${column.sample}`).toEqual(unquoted(expected));
    }
  });
}

function sameAnswers({ server }: ClusterContractOptions): void {
  test('groups, joins and sums are the same, but for the last digits of doubles', async () => {
    const rows = Array.from({ length: 20_000 }, (_, i) => ({ id: i, k: `k${i % 17}`, x: Math.sin(i) * 1e6 }));
    await server().put('facts', rows);
    await server().put(
      'dim-names',
      Array.from({ length: 17 }, (_, i) => ({ k: `k${i}`, name: `name ${i}` })),
    );
    const sqlOf = (dim: string) =>
      `select d.name, count(*) as n, min(f.id) as lo, max(f.x) as hi, sum(f.x) as total from facts f join ${dim} d on f.k = d.k group by d.name order by d.name`;
    const local = await run(server(), 'local', sqlOf('"dim-names"'));
    const cluster = await run(server(), 'scheduler', sqlOf('`dim-names`'));
    expect(cluster.dataset.map((row) => row.slice(0, 4))).toEqual(local.dataset.map((row) => row.slice(0, 4)));
    for (const [i, row] of cluster.dataset.entries()) {
      expect(Number(row[4])).toBeCloseTo(Number(local.dataset[i]?.[4]), 3);
    }
  });

  test('parameters are values, not SQL', async () => {
    await server().put('texts', [{ t: "x' or '1'='1" }, { t: 'y' }]);
    const { dataset } = await run(
      server(),
      'scheduler',
      'select t, ? as n, ? as d, ? as b, ? as z from texts where t = ?',
      [2 ** 40, 1.5, true, null, "x' or '1'='1"],
    );
    expect(dataset).toEqual([["x' or '1'='1", String(2 ** 40), 1.5, true, null]]);
  });

  test('a result without rows has its columns', async () => {
    await server().put('some', [{ a: 1, b: 'x' }]);
    const { columns, dataset } = await run(server(), 'scheduler', 'select a, b from some where a > 1');
    expect(columns.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(dataset).toEqual([]);
  });

  test('columns of one name get numbers', async () => {
    await server().put('some', [{ a: 1 }]);
    const { columns } = await run(server(), 'scheduler', 'select a, a from some');
    expect(columns.map(({ name }) => name)).toEqual(['a', 'a_1']);
  });
}

function oneVersion({ server }: ClusterContractOptions): void {
  test('a frame that is replaced while it is queried is read in one version', async () => {
    const rowsOf = (version: number) => Array.from({ length: 500 }, () => ({ v: version }));
    await server().put('moving', rowsOf(0));
    const done = new AbortController();
    const putting = (async () => {
      for (let version = 1; !done.signal.aborted; version++) await server().put('moving', rowsOf(version));
    })();
    const seen = new Set<unknown>();
    try {
      for (let i = 0; i < 5; i++) {
        const { dataset } = await run(
          server(),
          'scheduler',
          'select min(a.v), max(b.v), count(*) from moving a join MOVING b on a.v = b.v',
        );
        const [[low, high, count] = []] = dataset;
        expect([high, count]).toEqual([low, '250000']);
        seen.add(low);
      }
    } finally {
      done.abort();
      await putting;
    }
    expect(seen.size).toBeGreaterThan(1);
  });
}

function errors({ server, namesErrors }: ClusterContractOptions): void {
  test('an error in the SQL is 400', async () => {
    await server().put('some', [{ a: 1 }]);
    const sql = 'select nope from some';
    expect(await fail(server(), sql)).toMatchObject({ status: 400, body: { code: 'invalid_sql', query: sql } });
  });

  test.runIf(namesErrors).each([
    ["select '😀', nope from some", 'nope', 12],
    ["select\n  cast('x' as int)\nfrom some", 'cast', 9],
    ['select a / 0 from some', 'Division by zero', 7],
  ])('%j has a reason and a place', async (sql, reason, position) => {
    await server().put('some', [{ a: 1 }]);
    const error = expect.stringContaining(reason);
    expect(await fail(server(), sql)).toMatchObject({ status: 400, body: { code: 'invalid_sql', error, position } });
  });

  test('a client that disconnects gets nothing more, and the next statement runs', async () => {
    await server().put(
      'numbers',
      Array.from({ length: 3000 }, (_, i) => ({ i })),
    );
    const controller = new AbortController();
    const sql = 'select sum(a.i * b.i) from numbers a cross join numbers b';
    const answer = send(server(), 'scheduler', sql, { signal: controller.signal });
    controller.abort();
    await expect(answer).rejects.toThrow('aborted');
    expect((await run(server(), 'scheduler', 'select count(*) as n from numbers')).dataset).toEqual([['3000']]);
  });
}
