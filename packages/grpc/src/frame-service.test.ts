import { status as Status } from '@grpc/grpc-js';
import { ServiceError } from '@svc/errors';
import { parseHandle } from '@svc/frames';
import { GetFrameRequest, type PutFrameRequest } from '@svc/proto';
import { Int64, Table, tableFromArrays, tableToIPC, vectorFromArray } from 'apache-arrow';
import { describe, expect, test, vi } from 'vitest';
import {
  collect,
  connectRaw,
  deferred,
  failureOf,
  framed,
  getTable,
  putTable,
  startServer,
  upload,
} from '../test/start-server.ts';
import { uploadBody } from './frame-service.ts';

const rows = (count: number) =>
  new Table({
    id: vectorFromArray(
      Array.from({ length: count }, (_, row) => BigInt(row)),
      new Int64(),
    ),
    name: vectorFromArray(Array.from({ length: count }, (_, row) => `row ${row}`)),
  });

describe('a frame', () => {
  test('is put, read, described, listed, extended and dropped', async () => {
    const { client } = await startServer();
    const put = await putTable(client, 'trades', rows(3));
    expect(put.created).toBe(true);
    expect(put.frame).toMatchObject({
      handle: 'trades',
      rows: 3n,
      tier: 'memory',
      expires: undefined,
      columns: [
        { name: 'id', type: 'LONG' },
        { name: 'name', type: 'SYMBOL' },
      ],
    });
    expect(Math.abs(Number(put.frame?.created?.seconds) - Date.now() / 1000)).toBeLessThan(60);

    const read = await getTable(client, { handle: 'trades' });
    expect(read.frame).toEqual(put.frame);
    expect(read.table.toArray().map((row) => ({ ...row }))).toEqual([
      { id: 0n, name: 'row 0' },
      { id: 1n, name: 'row 1' },
      { id: 2n, name: 'row 2' },
    ]);

    expect((await client.describeFrame({ handle: 'trades' })).frame).toEqual(put.frame);
    expect((await client.listFrames({})).frames).toEqual([put.frame]);

    const extended = await client.extendFrame({ handle: 'trades', ttlSeconds: 3600n });
    expect(Number(extended.frame?.expires?.seconds) - Date.now() / 1000).toBeCloseTo(3600, -2);
    expect((await client.extendFrame({ handle: 'trades' })).frame?.expires).toBeUndefined();

    await client.dropFrame({ handle: 'trades' });
    expect((await client.listFrames({})).frames).toEqual([]);
  });

  test('is replaced by a second put', async () => {
    const { client } = await startServer();
    const first = await putTable(client, 'trades', rows(1));
    const second = await putTable(client, 'trades', rows(2));
    expect([second.created, second.frame?.rows]).toEqual([false, 2n]);
    expect(String(second.frame?.version) > String(first.frame?.version)).toBe(true);
  });

  test('without rows has its columns', async () => {
    const { client } = await startServer();
    await putTable(client, 'none', rows(0));
    const { table } = await getTable(client, { handle: 'none' });
    expect([table.numRows, table.schema.names]).toEqual([0, ['id', 'name']]);
  });

  test('arrives complete in chunks of any size', { tags: ['slow'] }, async () => {
    const { client } = await startServer();
    await client.putFrame(upload({ handle: 'bits' }, tableToIPC(rows(20), 'stream'), 7));
    expect((await getTable(client, { handle: 'bits' })).table.numRows).toBe(20);
  });

  test('expires after ttl_seconds', async () => {
    const { client } = await startServer();
    const put = await client.putFrame(upload({ handle: 'h', ttlSeconds: 60n }, tableToIPC(rows(1), 'stream')));
    const { created, expires } = put.frame ?? {};
    expect(Number(expires?.seconds) - Number(created?.seconds)).toBe(60);
  });
});

describe('GetFrame', () => {
  test.each([
    [{}, [0n, 1n, 2n, 3n, 4n]],
    [{ limit: 2n }, [0n, 1n]],
    [{ limit: 0n }, []],
    [{ offset: 3n }, [3n, 4n]],
    [{ limit: 2n, offset: 1n }, [1n, 2n]],
    [{ limit: BigInt(Number.MAX_SAFE_INTEGER), offset: 4n }, [4n]],
    [{ offset: 99n }, []],
  ])('with %o returns the rows %o', async (part, ids) => {
    const { client } = await startServer();
    await putTable(client, 'five', rows(5));
    const { table, frame } = await getTable(client, { handle: 'five', ...part });
    expect([...(table.getChild('id') ?? [])]).toEqual(ids);
    expect(frame?.rows).toBe(5n);
  });

  test('returns the requested columns, in that order', async () => {
    const { client } = await startServer();
    await putTable(client, 'five', rows(5));
    const { table } = await getTable(client, { handle: 'five', columns: ['name', 'id'] });
    expect(table.schema.names).toEqual(['name', 'id']);
  });

  test(
    'closes the frame when it was read, when the client stops, and when the read fails',
    { tags: ['slow'] },
    async () => {
      const close = vi.fn<() => void>();
      const server = await startServer();
      await putTable(server.client, 'big', rows(100_000));
      const readFrame = server.service.readFrame.bind(server.service);
      let fail = false;
      server.service.readFrame = async (...args) => {
        const reading = await readFrame(...args);
        const batches = (async function* () {
          yield* reading.stream.batches;
          if (fail) throw new ServiceError('out_of_memory', 'Broken off.');
        })();
        return {
          ...reading,
          stream: { schema: reading.stream.schema, batches },
          close: () => (reading.close(), close()),
        };
      };
      await getTable(server.client, { handle: 'big' });
      expect(close).toHaveBeenCalledTimes(1);
      for await (const _ of server.client.getFrame({ handle: 'big' })) break;
      await expect.poll(() => close.mock.calls.length).toBe(2);
      fail = true;
      expect(await failureOf((options) => drain(server.client.getFrame({ handle: 'big' }, options)))).toMatchObject({
        code: Status.RESOURCE_EXHAUSTED,
        details: 'Broken off.',
        errorCode: 'out_of_memory',
      });
      await expect.poll(() => close.mock.calls.length).toBe(3);
    },
  );

  test('is closed at the deadline of a client that has stopped reading', { tags: ['slow'] }, async () => {
    const server = await startServer();
    await putTable(server.client, 'big', tableFromArrays({ x: new Float64Array(1_000_000) }));
    const close = vi.fn<() => void>();
    const readFrame = server.service.readFrame.bind(server.service);
    server.service.readFrame = async (...args) => {
      const reading = await readFrame(...args);
      return { ...reading, close: () => (reading.close(), close()) };
    };
    const stream = (await connectRaw(server.port)).request({
      ':method': 'POST',
      ':path': '/svc.frames.v1.FrameService/GetFrame',
      'content-type': 'application/grpc',
      'grpc-timeout': '200m',
    });
    stream.pause().end(framed(GetFrameRequest.encode(GetFrameRequest.fromPartial({ handle: 'big' })).finish()));
    await expect.poll(() => server.answered().at(-1)?.status).toBe('DEADLINE_EXCEEDED');
    expect(close).toHaveBeenCalledTimes(1);
  });

  test('a list says -1 for the rows of a file that was not read yet', async () => {
    const server = await startServer();
    const { frame } = await putTable(server.client, 'b', rows(2));
    const info = await server.service.describeFrame(CALL, 'b');
    const unread = { ...info, handle: parseHandle('a'), rows: null, columns: null };
    server.service.listFrames = async () => [unread, info];
    expect((await server.client.listFrames({})).frames).toEqual([
      { ...frame, handle: 'a', rows: -1n, columns: [] },
      frame,
    ]);
  });

  test('applies backpressure if the client does not read', async () => {
    const server = await startServer();
    const megabyte = tableFromArrays({ x: new Float64Array(128 * 1024) });
    let taken = 0;
    const isClosed = new Promise<void>((resolve) => {
      server.service.readFrame = async () => ({
        info: (await putTable(server.client, 'x', rows(1))) && (await server.service.describeFrame(CALL, 'x')),
        stream: {
          schema: megabyte.schema,
          batches: (async function* () {
            for (; taken < 1000; taken++) yield megabyte.batches[0];
          })(),
        },
        close: resolve,
      });
    });
    const answer = server.client.getFrame({ handle: 'x' })[Symbol.asyncIterator]();
    await answer.next();
    let before = -1;
    await expect.poll(() => before === (before = taken), { interval: 200 }).toBe(true);
    expect(taken).toBeLessThan(32);
    await answer.return?.();
    await isClosed;
  });
});

const CALL = { tenant: 'default', requestId: 'r', signal: new AbortController().signal };

async function drain(source: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of source);
}

describe('ListFrames', () => {
  test('pages by prefix, after and limit', async () => {
    const { client } = await startServer();
    for (const handle of ['b1', 'a2', 'a1', 'a3']) await putTable(client, handle, rows(1));
    const list = async (request: Parameters<typeof client.listFrames>[0]) =>
      (await client.listFrames(request)).frames.map((frame) => frame.handle);
    expect(await list({})).toEqual(['a1', 'a2', 'a3', 'b1']);
    expect(await list({ prefix: 'a' })).toEqual(['a1', 'a2', 'a3']);
    expect(await list({ prefix: 'a', limit: 2n })).toEqual(['a1', 'a2']);
    expect(await list({ prefix: 'a', limit: 2n, after: 'a2' })).toEqual(['a3']);
    expect(await list({ limit: 0n })).toEqual([]);
  });
});

describe('bad input', () => {
  const arrow = tableToIPC(rows(1), 'stream');
  const ofTtl = (ttlSeconds: bigint) => upload({ handle: 'h', ttlSeconds }, arrow);

  test.each([
    ['get', 'an empty handle', 'INVALID_ARGUMENT', 'invalid_argument', 'The field handle is empty.'],
    ['describe', 'an empty handle', 'INVALID_ARGUMENT', 'invalid_argument', 'The field handle is empty.'],
    ['drop', 'an empty handle', 'INVALID_ARGUMENT', 'invalid_argument', 'The field handle is empty.'],
    ['extend', 'an empty handle', 'INVALID_ARGUMENT', 'invalid_argument', 'The field handle is empty.'],
  ] as const)('%s with %s is %s', async (method, _what, status, errorCode, details) => {
    const { client } = await startServer();
    const calls = {
      get: (options: object) => drain(client.getFrame({}, options)),
      describe: (options: object) => client.describeFrame({}, options),
      drop: (options: object) => client.dropFrame({}, options),
      extend: (options: object) => client.extendFrame({}, options),
    };
    expect(await failureOf(calls[method])).toMatchObject({ code: Status[status], errorCode, details });
  });

  test.each([
    ['no message', nothing(), 'The upload has no message.'],
    ['no handle', upload({}, arrow), 'The field handle is empty.'],
    ['data first', dataOnly(arrow), 'The first message of the upload has no target.'],
    ['an empty first message', emptyFirst(), 'The first message of the upload has no target.'],
    ['two targets', twoTargets(), 'The upload has a second target, "b", after its first message.'],
    ['the handle ".."', upload({ handle: '..' }, arrow), '".." is not a valid handle.'],
    ['the handle "a/b"', upload({ handle: 'a/b' }, arrow), '"a/b" is not a valid handle.'],
    ['the ttl -1', ofTtl(-1n), 'A time to live of -1 seconds is out of range.'],
    ['the ttl 0', ofTtl(0n), 'A time to live of 0 seconds is out of range.'],
    ['a ttl of over 100 years', ofTtl(3_153_600_001n), 'A time to live of 3153600001 seconds is out of range.'],
    ['the ttl 2^53-1', ofTtl(2n ** 53n - 1n), 'A time to live of 9007199254740991 seconds is out of range.'],
    ['a ttl past 2^53', ofTtl(2n ** 60n), `The field ttl_seconds is ${2n ** 60n}.`],
  ])('an upload with %s is INVALID_ARGUMENT and leaves nothing behind', async (_what, messages, details) => {
    const { client } = await startServer();
    const failure = await failureOf((options) => client.putFrame(messages, options));
    expect(failure).toMatchObject({ code: Status.INVALID_ARGUMENT, errorCode: 'invalid_argument', details });
    expect((await client.listFrames({})).frames).toEqual([]);
  });

  test('an upload that is not Arrow is INVALID_ARGUMENT with the hint of this protocol', async () => {
    const { client } = await startServer();
    const failure = await failureOf((options) =>
      client.putFrame(upload({ handle: 'h' }, Buffer.from('not arrow at all')), options),
    );
    expect(failure).toMatchObject({ code: Status.INVALID_ARGUMENT, errorCode: 'invalid_data' });
    expect((await client.listFrames({})).frames).toEqual([]);
  });

  test.each([
    ['a stream without its end', arrow.subarray(0, -8)],
    ['a stream cut in its end', arrow.subarray(0, -1)],
    ['no data', arrow.subarray(0, 0)],
  ])('an upload of %s is INVALID_ARGUMENT', async (_what, bytes) => {
    const { client } = await startServer();
    const failure = await failureOf((options) => client.putFrame(upload({ handle: 'h' }, bytes), options));
    expect(failure).toMatchObject({
      code: Status.INVALID_ARGUMENT,
      errorCode: 'invalid_data',
      details: "The upload stops without Arrow's end-of-stream marker.",
    });
  });

  test.each([
    ['limit', { limit: -1n }, 'The field limit is -1.'],
    ['limit', { limit: 2n ** 53n }, 'The field limit is 9007199254740992.'],
    ['offset', { offset: -(2n ** 63n) }, 'The field offset is -9223372036854775808.'],
    ['an unknown column', { columns: ['id', 'nope'] }, expect.stringContaining('"nope"')],
  ])('GetFrame with a bad %s is INVALID_ARGUMENT', async (_what, part, details) => {
    const { client } = await startServer();
    await putTable(client, 'h', rows(1));
    const failure = await failureOf((options) => drain(client.getFrame({ handle: 'h', ...part }, options)));
    expect(failure).toMatchObject({ code: Status.INVALID_ARGUMENT, errorCode: 'invalid_argument', details });
  });

  test.each(['nope', '..', 'a/b', 'x'.repeat(10_000)])('GetFrame of %j is NOT_FOUND', async (handle) => {
    const { client } = await startServer();
    expect(await failureOf((options) => drain(client.getFrame({ handle }, options)))).toMatchObject({
      code: Status.NOT_FOUND,
      errorCode: 'handle_not_found',
      hint: 'ListFrames lists all handles.',
    });
  });

  test('a negative limit of ListFrames is INVALID_ARGUMENT', async () => {
    const { client } = await startServer();
    const failure = await failureOf((options) => client.listFrames({ limit: -5n }, options));
    expect(failure).toMatchObject({ code: Status.INVALID_ARGUMENT, details: 'The field limit is -5.' });
  });

  test.each([
    [-5n, 'A time to live of -5 seconds is out of range.'],
    [0n, 'A time to live of 0 seconds is out of range.'],
    [9_007_199_254_740_991n, 'A time to live of 9007199254740991 seconds is out of range.'],
    [9_007_199_254_740_993n, 'The field ttl_seconds is 9007199254740993.'],
    [-(2n ** 63n), 'The field ttl_seconds is -9223372036854775808.'],
  ])('the ttl %i of ExtendFrame is INVALID_ARGUMENT, and the frame is unchanged', async (ttlSeconds, details) => {
    const { client } = await startServer();
    const { frame } = await putTable(client, 'h', rows(1));
    const failure = await failureOf((options) => client.extendFrame({ handle: 'h', ttlSeconds }, options));
    expect(failure).toMatchObject({
      code: Status.INVALID_ARGUMENT,
      details,
      hint: 'A time to live is in whole seconds, from 1 to 3153600000 (100 years).',
    });
    expect((await client.listFrames({})).frames).toEqual([frame]);
  });

  test('if_absent and if_version are obeyed', async () => {
    const { client } = await startServer();
    await putTable(client, 'h', rows(1));
    const put = (target: object) =>
      failureOf((options) => client.putFrame(upload({ handle: 'h', ...target }, arrow), options));
    expect(await put({ ifAbsent: true })).toMatchObject({ code: Status.ALREADY_EXISTS, errorCode: 'handle_exists' });
    expect(await put({ ifVersion: 'old' })).toMatchObject({ code: Status.ABORTED, errorCode: 'version_conflict' });
  });
});

async function* nothing() {}

async function* dataOnly(chunk: Uint8Array) {
  yield { chunk };
}

async function* emptyFirst() {
  yield {};
}

async function* twoTargets() {
  yield { target: { handle: 'a' } };
  yield { target: { handle: 'b' } };
}

const table = tableFromArrays({ id: Int32Array.of(1, 2, 3) });
const stream = tableToIPC(table, 'stream');
const file = tableToIPC(table, 'file');

async function* inChunks(bytes: Uint8Array, size: number, end = Promise.resolve()): AsyncGenerator<PutFrameRequest> {
  for (let start = 0; start < bytes.length; start += size) {
    yield { target: undefined, chunk: bytes.subarray(start, start + size) };
    yield { target: undefined, chunk: new Uint8Array(0) };
  }
  await end;
}

test.each([
  ['a stream', stream, stream.length],
  ['a stream in bytes', stream, 1],
  ['a stream whose end is cut in two', stream, stream.length - 3],
  ['a file', file, file.length],
  ['a file whose end is cut in two', file, file.length - 3],
])('%s is accepted', async (_what, bytes, size) => {
  expect(Buffer.concat(await collect(uploadBody(inChunks(bytes, size))))).toEqual(Buffer.from(bytes));
});

test.each([
  ['nothing', stream.subarray(0, 0)],
  ['a stream without its end', stream.subarray(0, -8)],
  ['a stream without its last byte', stream.subarray(0, -1)],
  ['a file without its last byte', file.subarray(0, -1)],
])('%s is refused', async (_what, bytes) => {
  await expect(collect(uploadBody(inChunks(bytes, 100)))).rejects.toThrow(ServiceError);
});

test('the last chunk is held back until the upload has ended', async () => {
  const end = deferred();
  const body = uploadBody(inChunks(stream, stream.length - 8, end.promise));
  expect((await body.next()).value).toHaveLength(stream.length - 8);
  const last = body.next();
  let isThere = false;
  void last.then(() => (isThere = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isThere).toBe(false);
  end.resolve();
  expect((await last).value).toHaveLength(8);
});
