import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, open, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ServiceError } from '@svc/errors';
import { createDecoders } from '@svc/frames';
import { readRows } from '@svc/frames/testing';
import { Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { ChildError } from '../child-link/child-errors.ts';
import { fromChild } from '../files/file-errors.ts';
import { createTenantFolder } from './catalogue/tenant-folder.ts';
import { createIncomingFile, type IncomingFile, type ReceivedRows, withReceived } from './receive-upload.ts';
import { createStoreFixture, refOf, type StoreFixture } from '../testing/store-fixture.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'receive-upload-'));
});

afterEach(() => rm(directory, { recursive: true }));

/** Receives a CSV file whose first attempts fail with these DuckDB errors. */
async function receive(...messages: string[]): Promise<{ readonly attempts: string[]; readonly outcome: unknown }> {
  const attempts: string[] = [];
  const receiving = { decoders: undefined, folder: createTenantFolder(directory), signal: undefined };
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a\n1\n');
  }
  async function work(rows: ReceivedRows): Promise<string> {
    attempts.push('path' in rows ? await readFile(rows.path, 'utf8') : '');
    const message = messages[attempts.length - 1];
    if (message === undefined) return 'done';
    throw fromChild(new ChildError({ code: 'duckdb', message }), 'new file');
  }
  const outcome = await withReceived({ format: 'csv', body: body() }, receiving, work).catch((error: unknown) => error);
  return { attempts, outcome };
}

const REFUSED = 'FATAL Error: Failed: database has been invalidated because of a previous fatal error.';

test('an upload that the engine refuses because of another request is written by a new engine', async () => {
  expect(await receive(REFUSED)).toEqual({ attempts: ['a\n1\n', 'a\n1\n'], outcome: 'done' });
});

test.each([
  ['is refused again', [REFUSED, REFUSED], 2, 'unavailable', 'Send the request again.'],
  ['breaks the engine itself', ['INTERNAL Error: a', 'INTERNAL Error: b'], 1, 'internal', /^Other requests/],
  [
    'quotes such words',
    ['Conversion Error: "INTERNAL Error" is no number'],
    1,
    'internal',
    'Report it with the request id.',
  ],
])('one that %s fails, and leaves no file', async (_, messages, count, code, hint) => {
  const { attempts, outcome } = await receive(...messages);
  expect(attempts).toHaveLength(count);
  expect(outcome).toMatchObject({ code, hint: expect.stringMatching(hint) });
  expect(await readdir(directory)).toEqual([]);
});

describe('an NDJSON upload', () => {
  const decoders = createDecoders();
  afterAll(() => decoders.close());

  async function filesWhileDecoding(line: string, lines: number): Promise<{ rows: number; files: number }> {
    async function* body(): AsyncGenerator<Uint8Array> {
      for (let i = 0; i < lines; i++) yield Buffer.from(line);
    }
    const receiving = { decoders, folder: createTenantFolder(directory), signal: undefined };
    return withReceived({ format: 'ndjson', body: body() }, receiving, async (rows) => {
      let count = 0;
      if ('batches' in rows) for await (const batch of rows.batches) count += batch.numRows;
      return { rows: count, files: (await readdir(directory)).length };
    });
  }

  test.each<[string, number, number]>([
    ['short', 100, 0],
    ['long', 10_000, 1],
  ])('that is %s has all its rows, from %i lines in %i files', async (_name, lines, files) => {
    expect(await filesWhileDecoding('{"a":1,"b":"x"}\n', lines)).toEqual({ rows: lines, files });
    expect(await readdir(directory)).toEqual([]);
  });

  test('that stops arriving can be cancelled', async () => {
    const controller = new AbortController();
    async function* body(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{"a":1}\n');
      controller.abort(new ServiceError('cancelled', 'gone'));
      await new Promise(() => {});
    }
    const receiving = { decoders, folder: createTenantFolder(directory), signal: controller.signal };
    await expect(withReceived({ format: 'ndjson', body: body() }, receiving, async () => 1)).rejects.toThrow('gone');
  });
});

const MIB = 1 << 20;

function newPath(): string {
  const parent = mkdtempSync(join(tmpdir(), 'incoming-file-'));
  onTestFinished(() => rmSync(parent, { recursive: true }));
  return join(parent, 'file');
}

/** A body of several MiB, each filled with a different value; `before` is awaited before one of them. */
async function* mebibytes(count: number, before: Readonly<Record<number, () => Promise<unknown>>> = {}) {
  for (let i = 0; i < count; i++) {
    await before[i]?.();
    yield Buffer.alloc(MIB, i);
  }
}

/** Yields the value of every MiB of a file as soon as it can be read. */
async function valuesOf(file: IncomingFile, values: number[] = []): Promise<number[]> {
  const handle = await open(file.path);
  try {
    for (let at = 0, size = await file.grown(0); at < size; size = await file.grown(at)) {
      for (; at < size; at += MIB) {
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(MIB), 0, MIB, at);
        expect([bytesRead, new Set(buffer).size]).toEqual([MIB, 1]);
        values.push(buffer[0] ?? -1);
      }
    }
    return values;
  } finally {
    await handle.close();
  }
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

test('a large upload is read while it arrives', { tags: ['slow'] }, async () => {
  const read: number[] = [];
  const hasRead = async () => {
    await expect.poll(() => read.length).toBeGreaterThan(4);
  };
  const file = createIncomingFile(mebibytes(12, { 10: hasRead }), newPath(), { maxWaitMs: 10_000, firstMs: 10_000 });
  expect(await file.isFast()).toBe(true);
  expect(await valuesOf(file, read)).toEqual(upTo(12));
  await file.whole;
  expect(await valuesOf(file)).toEqual(upTo(12));
});

test('a small upload is read when it is complete', async () => {
  const file = createIncomingFile(mebibytes(3), newPath());
  expect(await file.isFast()).toBe(false);
  await file.whole;
  expect(await valuesOf(file)).toEqual(upTo(3));
});

test('a slow upload is not read while it arrives, and is complete later', { tags: ['slow'] }, async () => {
  let isLate = false;
  const late = async () => {
    await expect.poll(() => isLate).toBe(true);
  };
  const file = createIncomingFile(mebibytes(12, { 9: late }), newPath(), { maxWaitMs: 10, firstMs: 10_000 });
  expect(await file.isFast()).toBe(true);
  await expect(valuesOf(file)).rejects.toThrow('too slow to be read');
  expect(file.wasTooSlow).toBe(true);
  isLate = true;
  await file.whole;
  expect(await valuesOf(file)).toEqual(upTo(12));
});

test('an upload that breaks off fails its readers', async () => {
  const broken = async () => {
    throw new Error('The client went away.');
  };
  const file = createIncomingFile(mebibytes(12, { 10: broken }), newPath());
  await expect(file.whole).rejects.toThrow('The client went away.');
  await expect(valuesOf(file)).rejects.toThrow('The client went away.');
  expect(file.wasTooSlow).toBe(false);
});

let fixture: StoreFixture | undefined;
afterEach(async () => {
  await fixture?.remove();
  fixture = undefined;
});

/** 12 MiB of rows as Arrow, with a wait before the last part. */
async function* upload(beforeLast: () => Promise<unknown>) {
  const rows = Float64Array.from({ length: (12 * MIB) / 8 }, (_, row) => row);
  const bytes = tableToIPC(new Table({ x: vectorFromArray(rows) }), 'stream');
  yield bytes.subarray(0, 9 * MIB);
  await beforeLast();
  yield bytes.subarray(9 * MIB);
}

test.each([
  ['is fast', async () => undefined],
  ['gets slow', () => delay(1300)],
])('an upload that %s becomes a complete frame', { tags: ['slow'] }, async (_name, beforeLast) => {
  fixture = await createStoreFixture();
  const decoders = createDecoders();
  onTestFinished(() => decoders.close());
  const store = await fixture.open({ decoders });
  const { info } = await store.put(refOf('x'), { format: 'arrow', body: upload(beforeLast) });
  expect(info.rows).toBe((12 * MIB) / 8);
  const frame = await store.open(refOf('x'));
  onTestFinished(() => frame?.close());
  expect(frame && (await readRows(frame.read({ offset: info.rows - 2 })))).toEqual([[info.rows - 2], [info.rows - 1]]);
  expect((await fixture.names()).filter((name) => name.startsWith('.'))).toEqual([]);
});

test('a fast upload that breaks off leaves nothing', { tags: ['slow'] }, async () => {
  fixture = await createStoreFixture();
  const decoders = createDecoders();
  onTestFinished(() => decoders.close());
  const store = await fixture.open({ decoders });
  const body = upload(async () => {
    throw new Error('The client went away.');
  });
  await expect(store.put(refOf('x'), { format: 'arrow', body })).rejects.toThrow('The client went away.');
  expect(await fixture.names()).toEqual([]);
});

async function* oneRow(name: string) {
  yield tableToIPC(new Table({ [name]: vectorFromArray(Float64Array.of(1)) }), 'stream');
}

test('an upload whose rows were refused occupies no decoder while the rest arrives', { tags: ['slow'] }, async () => {
  fixture = await createStoreFixture();
  const decoders = createDecoders({ maxWorkers: 1, waitTimeoutMs: 5000 });
  onTestFinished(() => decoders.close());
  const store = await fixture.open({ decoders });
  await store.put(refOf('x'), { format: 'arrow', body: oneRow('other') });
  let sendRest = (): void => {};
  const rest = new Promise<void>((resolve) => (sendRest = resolve));
  const refused = store.append(refOf('x'), { format: 'arrow', body: upload(() => rest) });
  refused.catch(() => undefined);
  for (const handle of ['y', 'z']) {
    const { info } = await store.put(refOf(handle), { format: 'arrow', body: oneRow('x') });
    expect(info.rows).toBe(1);
  }
  sendRest();
  await expect(refused).rejects.toMatchObject({ code: 'invalid_data' });
});

// The built module: a process of its own has a small heap, and flags that no other test changes.
const HEAP_ROOM = new URL('../../dist/store/receive-upload.js', import.meta.url).href;

/** V8 rejects a code cache while a flag differs from when the cache was written. */
const PROGRAM = `
  import { Script } from 'node:vm';
  import { withHeapRoom } from '${HEAP_ROOM}';
  const cachedData = new Script('function once() {}').createCachedData();
  let scripts = 0;
  const hasRoom = () => new Script('function once() {}', { filename: 'script-' + scripts++, cachedData }).cachedDataRejected;
  const states = { before: hasRoom() };
  let end;
  const long = withHeapRoom(() => new Promise((resolve) => (end = resolve)));
  states.during = hasRoom();
  states.result = await withHeapRoom(async () => 'rows');
  states.afterAnother = hasRoom();
  states.error = await withHeapRoom(async () => { throw 'damaged'; }).catch((error) => error);
  states.afterFailure = hasRoom();
  end();
  await long;
  states.after = hasRoom();
  console.log(JSON.stringify(states));`;

test('the heap has room until the last of several tasks ends, also if some fail', async () => {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', PROGRAM]);
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toStrictEqual({
    before: false,
    during: true,
    result: 'rows',
    afterAnother: true,
    error: 'damaged',
    afterFailure: true,
    after: false,
  });
});
