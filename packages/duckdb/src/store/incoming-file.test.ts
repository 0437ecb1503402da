import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createDecoders } from '@svc/frames';
import { readRows } from '@svc/frames/testing';
import { Table, tableToIPC, vectorFromArray } from 'apache-arrow';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { createIncomingFile, type IncomingFile } from './incoming-file.ts';
import { createStoreFixture, refOf, type StoreFixture } from '../testing/store-fixture.ts';

const MIB = 1 << 20;

function newPath(): string {
  const directory = mkdtempSync(join(tmpdir(), 'incoming-file-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return join(directory, 'file');
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
