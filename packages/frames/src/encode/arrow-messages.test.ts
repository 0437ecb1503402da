import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Dictionary, Int32, type RecordBatch, Table, tableFromArrays, Utf8, vectorFromArray } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { streamOfBatches } from '../streams.ts';
import { SAMPLE_FRAMES } from '../testing/sample-frames.ts';
import { type ArrowMessage, createKeptMessages, encodeArrowMessages, type KeptMessages } from './arrow-messages.ts';

async function encode({ schema, batches }: Pick<Table, 'schema'> & Batches): Promise<readonly ArrowMessage[]> {
  const messages: ArrowMessage[] = [];
  for await (const message of encodeArrowMessages(streamOfBatches(schema, batches))) messages.push(message);
  return messages;
}

interface Batches {
  readonly batches: readonly RecordBatch[];
}

const bytesOf = (messages: readonly ArrowMessage[]) =>
  Buffer.concat(messages.flatMap(({ header, body }) => [header, ...body]));

const batchesOf = (messages: readonly ArrowMessage[]) => messages.filter(({ kind }) => kind !== 'schema');
const numbers = (rows: number) => tableFromArrays({ n: Float64Array.from({ length: rows }, (_, row) => row / 3) });

describe('encodeArrowMessages', () => {
  test('keeps the messages of a batch when it is encoded for the second time', async () => {
    const table = numbers(600_000);
    const [first, second, third] = [await encode(table), await encode(table), await encode(table)];
    expect(batchesOf(second).length).toBeGreaterThan(1);
    const isSame = (some: readonly ArrowMessage[]) =>
      batchesOf(some).map((message, i) => message === batchesOf(second)[i]);
    expect(new Set(isSame(first))).toEqual(new Set([false]));
    expect(new Set(isSame(third))).toEqual(new Set([true]));
  });

  test('does not keep a batch that was not read to its end', async () => {
    const table = numbers(600_000);
    await encode(table);
    const left = streamOfBatches(table.schema, table.batches);
    for await (const message of encodeArrowMessages(left)) if (message.kind === 'batch') break;
    const again = await encode(table);
    expect(batchesOf(again).reduce((sum, { bodyLength }) => sum + bodyLength, 0)).toBe(8 * 600_000);
  });

  test('does not keep batches with dictionaries, which every stream sends once', async () => {
    const symbol = vectorFromArray(['a', 'b', 'a', 'b'], new Dictionary(new Utf8(), new Int32()));
    const whole = new Table({ symbol });
    const twice = { schema: whole.schema, batches: [...whole.batches, ...whole.batches] };
    for (let i = 0; i < 3; i++) {
      const kinds = (await encode(twice)).map(({ kind }) => kind);
      expect(kinds).toEqual(['schema', 'dictionary', 'batch', 'batch']);
    }
  });

  test.each(SAMPLE_FRAMES)('encodes $name the same every time', async (frame) => {
    const first = bytesOf(await encode(frame));
    for (let i = 0; i < 2; i++) expect(bytesOf(await encode(frame)).equals(first)).toBe(true);
  });
});

describe('createKeptMessages', () => {
  async function batchAndMessage(rows: number): Promise<{ batch: RecordBatch; message: ArrowMessage }> {
    const table = numbers(rows);
    const [batch] = table.batches;
    const message = (await encode(table)).at(-1);
    if (batch === undefined || message === undefined) throw new Error('There is no batch.');
    return { batch, message };
  }

  function encodeTwice(kept: KeptMessages, batch: RecordBatch, message: ArrowMessage): void {
    for (let i = 0; i < 2; i++) {
      const keeper = kept.begin(batch);
      keeper?.add(message);
      keeper?.end();
    }
  }

  test('counts headers and copies, not the memory of the batch', async () => {
    const { batch, message } = await batchAndMessage(200_000);
    const copied = new Uint8Array(5000);
    const kept = createKeptMessages();
    encodeTwice(kept, batch, { ...message, body: [...message.body, copied] });
    expect(kept.get(batch)).toHaveLength(1);
    const least = message.header.length + copied.length;
    expect(kept.bytes).toBeGreaterThan(least);
    expect(kept.bytes).toBeLessThan(least + 1000);
  });

  test.each([
    [2000, false],
    [4000, true],
  ])('of at most %d bytes, keeps a copy of 2000: %s', async (maxBytes, isKept) => {
    const { batch, message } = await batchAndMessage(1000);
    const kept = createKeptMessages(maxBytes);
    encodeTwice(kept, batch, { ...message, body: [new Uint8Array(2000)] });
    expect(kept.get(batch) !== undefined).toBe(isKept);
    expect(kept.bytes > 0).toBe(isKept);
  });

  /** Keeps a message of a batch that can be freed then. */
  async function keepFreed(kept: KeptMessages, body?: Uint8Array): Promise<void> {
    const { batch, message } = await batchAndMessage(1000);
    encodeTwice(kept, batch, body === undefined ? message : { ...message, body: [body] });
    expect(kept.bytes).toBeGreaterThan(0);
  }

  async function untilFreed(kept: KeptMessages): Promise<void> {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    for (let i = 0; i < 100 && kept.bytes > 0; i++) {
      collect();
      await setImmediate();
    }
    expect(kept.bytes).toBe(0);
  }

  test('frees the messages with their batch', async () => {
    const kept = createKeptMessages();
    await keepFreed(kept);
    await untilFreed(kept);
  });

  test('keeps all messages of a batch or none, also if there is room again before the last one', async () => {
    const kept = createKeptMessages(5000);
    await keepFreed(kept, new Uint8Array(3000));
    const { batch, message } = await batchAndMessage(10);
    kept.begin(batch);
    const keeper = kept.begin(batch);
    keeper?.add({ ...message, body: [new Uint8Array(2000)] });
    await untilFreed(kept);
    keeper?.add(message);
    keeper?.end();
    expect(kept.get(batch)).toBeUndefined();
    expect(kept.bytes).toBe(0);
  });
});
