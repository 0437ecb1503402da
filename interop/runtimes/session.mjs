// Calls every method of the client in the runtime that runs this program. The argument: the address of an empty server.
import { deepEqual, equal, ok, rejects, throws } from 'node:assert/strict';
import process from 'node:process';
import { ClientError, createClient } from '@svc/client';
import { tableFromArrays, tableFromIPC } from 'apache-arrow';

const url = process.argv[2];
const engine = 'local';
const ENDLESS = 'select count(*) from range(10000000) a, range(10000000) b where a.range + b.range = -1';
const LONG = 'select range as a from range(1000000000000)';
const EXACT = [
  { id: 9007199254740993n, name: 'a "b" \\ é', price: 1.5, tags: ['x', null] },
  { id: -9223372036854775808n, name: null, price: -0, tags: [] },
];

const called = new Set();
const client = new Proxy(createClient({ url }), {
  get(target, name) {
    called.add(name);
    return target[name];
  },
});

async function all(items) {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

async function bytesOf(stream) {
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function textOf(stream) {
  return new TextDecoder().decode(await bytesOf(stream));
}

async function rowsOf(result) {
  return (await result).rows();
}

/** Expects an error of the client with these members. */
function fails(promise, members) {
  return rejects(promise, (error) => {
    ok(error instanceof ClientError, error);
    deepEqual(Object.fromEntries(Object.keys(members).map((name) => [name, error[name]])), members);
    ok(error.message.length > 0 && error.hint?.length > 0, error);
    return true;
  });
}

/** Waits until no SQL runs on the server. */
async function idle() {
  while ((await client.running()).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function* later(items) {
  for (const item of items) {
    await new Promise((resolve) => setTimeout(resolve, 0));
    yield item;
  }
}

const SESSION = {
  'a relative URL is refused outside of a page': () =>
    throws(() => createClient({ url: '/frames' }), { name: 'ClientError', code: 'invalid_argument' }),

  'the server answers': async () => {
    await client.ping();
    deepEqual((await client.info()).engines, [engine]);
    const { status, body } = await client.send({ path: 'frames/none', accept: [404] });
    equal(status, 404);
    equal(JSON.parse(await textOf(new Blob(await all(body)))).code, 'handle_not_found');
  },

  'data of every kind is put and appended': async () => {
    const csv = 'a,b\n1,x\n2,y\n';
    const bytes = new TextEncoder().encode(csv);
    const rows = [
      { a: 1, b: 'x' },
      { a: 2, b: 'y' },
    ];
    const kinds = {
      rows: () => rows,
      'iterable of rows': () => new Set(rows),
      'async iterable of rows': () => later(rows),
      text: () => csv,
      bytes: () => bytes,
      'array buffer': () => bytes.slice().buffer,
      blob: () => new Blob([csv]),
      stream: () => new Blob([csv]).stream(),
      'async iterable of bytes': () => later([bytes.subarray(0, 8), bytes.subarray(8)]),
      'Arrow table': () => tableFromArrays({ a: new BigInt64Array([1n, 2n]), b: ['x', 'y'] }),
    };
    for (const [kind, make] of Object.entries(kinds)) {
      const put = await client.put('data', make());
      deepEqual([kind, put.rows, put.isNew], [kind, 2, kind === 'rows']);
      equal((await client.append('data', make())).rows, 4, kind);
      const expected = [1n, 2n, 1n, 2n].map((a) => ({ a, b: a === 1n ? 'x' : 'y' }));
      deepEqual(await rowsOf(client.read('data')), expected, kind);
    }
    const gzip = new Blob([csv]).stream().pipeThrough(new CompressionStream('gzip'));
    const { handle } = await client.create(gzip, { format: 'csv', encoding: 'gzip' });
    equal((await client.describe(handle)).rows, 2);
    await client.drop(handle);
  },

  'a stream that fails or is aborted stores nothing': async () => {
    async function* broken() {
      yield { a: 1 };
      throw new Error('no more rows');
    }
    await rejects(client.put('partial', broken()), /no more rows/);
    const ending = new AbortController();
    async function* aborted() {
      for (let a = 0; ; a += 1) {
        if (a === 100_000) ending.abort(new Error('enough'));
        yield { a };
      }
    }
    await rejects(client.put('partial', aborted(), { signal: ending.signal }), /enough/);
    await fails(client.describe('partial'), { code: 'handle_not_found', status: 404 });
  },

  'values have every digit, in rows, Arrow and bytes': async () => {
    const { version } = await client.put('exact', EXACT);
    const result = await client.read('exact');
    deepEqual([result.version, result.total], [version, 2]);
    deepEqual(result.columns.slice(0, 2), [
      { name: 'id', type: 'LONG' },
      { name: 'name', type: 'STRING' },
    ]);
    deepEqual(await result.rows(), EXACT);
    const ids = EXACT.map(({ id }) => id);
    const idsOf = (table) => table.toArray().map(({ id }) => id);
    deepEqual(idsOf(await client.readArrow('exact')), ids);
    deepEqual(idsOf(tableFromIPC(await bytesOf(await client.readStream('exact', { format: 'arrow' })))), ids);
    const csv = await client.readStream('exact', { format: 'csv', columns: ['id'], limit: 1 });
    equal(await textOf(csv), 'id\r\n9007199254740993\r\n');
    const longs = await rowsOf(client.read('exact', { columns: ['id'], longs: 'string' }));
    deepEqual(longs, [{ id: '9007199254740993' }, { id: '-9223372036854775808' }]);
    await fails(rowsOf(client.read('exact', { longs: 'number' })), { code: 'inexact_value' });
  },

  'SQL takes parameters, and is read as rows, Arrow and bytes': async () => {
    const params = [9007199254740993n, 1.5, 'a "b"', null, true];
    const [row] = await rowsOf(client.query('select ? as a, ? as b, ? as c, ? as d, ? as e', { params }));
    deepEqual(Object.values(row), params);
    equal((await client.queryArrow('select 9007199254740993 as a')).get(0).a, 9007199254740993n);
    equal(await textOf(await client.queryStream('select 1 as a', { format: 'ndjson' })), '{"a":1}\n');
  },

  'a long answer, which is compressed, is read whole': async () => {
    const { rows, version } = await client.keep('select range as id from range(?)', {
      handle: 'many',
      params: [200_000],
    });
    equal(rows, 200_000);
    const result = await client.read('many');
    equal(result.version, version);
    let next = 0n;
    for await (const { id } of result) equal(id, next++);
    equal(next, 200_000n);
    const window = await client.read('many', { offset: 199_998 });
    deepEqual(await all(window), [{ id: 199_998n }, { id: 199_999n }]);
  },

  'frames are listed, described, renamed, kept for a time and dropped': async () => {
    const handles = async () => (await all(client.list())).map(({ handle }) => handle);
    deepEqual(await handles(), ['data', 'exact', 'many']);
    deepEqual((await client.rename('many', 'more')).handle, 'more');
    await fails(client.rename('more', 'data'), { code: 'handle_exists', status: 409 });
    equal((await client.describe('more')).rows, 200_000);
    ok((await client.setTtl('more', 60)).expires !== null);
    await client.drop('more');
    deepEqual(await handles(), ['data', 'exact']);
    await fails(client.put('data', [{ a: 1 }], { ifNew: true }), { code: 'handle_exists' });
  },

  'errors have a code, a position and the id of the request': async () => {
    const wrong = { code: 'invalid_sql', status: 400, position: 7, requestId: 'wrong-sql', isAmbiguous: false };
    await fails(client.query('select nothing', { requestId: 'wrong-sql' }), wrong);
    await fails(client.put('data', [{ a: () => 1 }]), { code: 'invalid_argument', status: undefined });
    await fails(createClient({ url: 'http://127.0.0.1:1', retries: 0 }).ping(), { code: 'unreachable' });
    const impatient = createClient({ url, timeoutMs: 200, retries: 0 });
    await fails(impatient.query(ENDLESS, { engine }), { code: 'timeout' });
    await idle();
  },

  'SQL ends on the server when it is aborted, left or cancelled': async () => {
    const ending = new AbortController();
    const onProgress = ({ id }) => ending.abort(new Error(`enough of ${id}`));
    const first = client.query(ENDLESS, { requestId: 'first', signal: ending.signal, onProgress });
    await rejects(first, /enough of first/);
    await idle();
    const between = new AbortController();
    const read = async () => {
      for await (const { a } of await client.query(LONG, { signal: between.signal })) if (a === 3n) between.abort();
    };
    await rejects(read(), { name: 'AbortError' });
    await idle();
    for await (const { a } of await client.query(LONG)) if (a === 3n) break;
    await idle();
    await (await client.queryStream(LONG, { format: 'csv' })).cancel();
    await idle();
    const last = fails(client.query(ENDLESS, { requestId: 'last' }), { code: 'cancelled', status: 499 });
    while (!(await client.cancel('last'))) await new Promise((resolve) => setTimeout(resolve, 20));
    await last;
    await idle();
  },

  'no method is left out': () => deepEqual(called, new Set(Object.keys(createClient({ url })))),
};

for (const [fact, step] of Object.entries(SESSION)) {
  try {
    await step();
  } catch (error) {
    console.error(`Not so: ${fact}`);
    throw error;
  }
}
const { bun, deno, node } = process.versions;
const runtime = deno ? `Deno ${deno}` : bun ? `Bun ${bun}` : `Node ${node}`;
console.log(`${runtime}: ${Object.keys(SESSION).length} facts about the client hold.`);
