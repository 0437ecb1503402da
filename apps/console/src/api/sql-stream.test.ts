import { describe, expect, test } from 'vitest';
import { createJsonTableReader } from '@svc/client/internal';
import { encodeArrowStream, encodeJsonTable } from '@svc/frames';
import { bytesOf, SAMPLE_FRAMES, streamOfSample } from '@svc/frames/testing';
import { byTier, SLOW } from '../../../../test/tier.ts';
import { createArrowReader, createIpcSplitter } from './arrow-reader.ts';
import { parseServerTiming } from './sql-stream.ts';

const samples = SAMPLE_FRAMES.map((sample) => [sample.name, sample] as const);

/** Those whose JSON takes a second or more to read at every cut. */
const LARGE = new Set(['every type side by side', 'wide', 'huge texts']);
const large = samples.filter(([name]) => LARGE.has(name));
const small = samples.filter(([name]) => !LARGE.has(name));

/** The bytes as they may arrive: cut in two at an offset. */
function cutAt(bytes: Uint8Array, at: number): Uint8Array[] {
  return [bytes.subarray(0, at), bytes.subarray(at)];
}

/** Every offset of a short stream; of a long one those around its start and end and about 60 between. */
function* cuts(length: number): Generator<number> {
  const step = Math.max(1, Math.floor(length / 60));
  for (let at = 0; at <= length; at += at < 32 || at > length - 32 ? 1 : step) yield at;
}

describe('the messages of an Arrow stream', () => {
  test.each(samples)('are the same however the bytes of "%s" are cut', async (_name, sample) => {
    const bytes = await bytesOf(encodeArrowStream(streamOfSample(sample)));
    const whole = createIpcSplitter();
    const expected = whole.push(bytes);
    expect([whole.isEnded, expected[0]?.kind]).toEqual([true, 'schema']);
    const total = expected.reduce((sum, message) => sum + message.bytes.length, 0);
    expect(total + 8, 'all bytes but the mark at the end').toBe(bytes.length);
    for (const at of cuts(bytes.length)) {
      const splitter = createIpcSplitter();
      const messages = cutAt(bytes, at).flatMap((chunk) => splitter.push(chunk));
      expect(messages.length).toBe(expected.length);
      expect(messages.every((message, i) => Buffer.compare(message.bytes, expected[i].bytes) === 0)).toBe(true);
      expect(splitter.isEnded).toBe(true);
    }
  });

  test('come one byte at a time', async () => {
    const bytes = await bytesOf(encodeArrowStream(streamOfSample(SAMPLE_FRAMES[0])));
    const splitter = createIpcSplitter();
    const kinds = [...bytes].flatMap((byte) => splitter.push(Uint8Array.of(byte)).map(({ kind }) => kind));
    expect([kinds[0], splitter.isEnded]).toEqual(['schema', true]);
  });

  test('of a stream that was cut off are those before the cut, and the end is missing', async () => {
    const bytes = await bytesOf(encodeArrowStream(streamOfSample(SAMPLE_FRAMES[0])));
    const splitter = createIpcSplitter();
    expect(splitter.push(bytes.subarray(0, bytes.length - 8)).length).toBeGreaterThan(0);
    expect(splitter.isEnded).toBe(false);
  });

  test.each([
    ['text', Buffer.from('{"error":"no"}')],
    ['a negative length', Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 255)],
    ['metadata that points outside', Uint8Array.of(255, 255, 255, 255, 8, 0, 0, 0, 255, 255, 255, 127, 0, 0, 0, 0)],
    ['bytes after the end', Uint8Array.of(255, 255, 255, 255, 0, 0, 0, 0, 1)],
  ])('are refused if they are %s', (_name, bytes) => {
    expect(() => createIpcSplitter().push(bytes)).toThrow('not a valid Arrow stream');
  });
});

describe('an Arrow answer', () => {
  test.each(samples)('of "%s" has the type names of the server, and all rows', async (_name, sample) => {
    const bytes = await bytesOf(encodeArrowStream(streamOfSample(sample)));
    const reader = createArrowReader();
    const rows = reader.push(bytes).reduce((sum, table) => sum + table.rows, 0);
    expect(reader.columns?.map(({ type }) => type)).toEqual(sample.types);
    expect(reader.isComplete).toBe(true);
    expect(rows).toBe(sample.rows.length);
  });
});

describe('a JSON table', () => {
  for (const [options, cases] of [...byTier(small), [SLOW, large] as const]) {
    test.each(cases)(
      'of "%s" has the exact text of every cell, however its bytes are cut',
      options,
      async (_name, sample) => {
        const bytes = await bytesOf(encodeJsonTable(streamOfSample(sample), { query: 'a "b" [c] {d} \\' }));
        const expected = sample.rows.map(({ json }) => json);
        for (const at of cuts(bytes.length)) {
          const reader = createJsonTableReader();
          const rows = cutAt(bytes, at).flatMap((chunk) => reader.push(chunk));
          expect(rows).toEqual(expected);
          expect([reader.isComplete, reader.members.get('count')]).toEqual([true, expected.length]);
          expect(reader.columns?.map(({ type }) => type)).toEqual(sample.types);
        }
      },
    );
  }

  test('of the time-series database may have spaces, other members, and nested values', () => {
    const text =
      ' { "query" : "x", "columns": [ {"name":"a","type":"LONG"}, {"name":"b","type":"ARRAY","dim":1} ], "timestamp":-1,\n "dataset": [ [ 1 , [1.0,2.5] ] , ["9223372036854775807",null] ], "count":2 } ';
    for (let at = 0; at <= text.length; at++) {
      const reader = createJsonTableReader();
      expect(cutAt(Buffer.from(text), at).flatMap((chunk) => reader.push(chunk))).toEqual([
        ['1', '[1.0,2.5]'],
        ['"9223372036854775807"', 'null'],
      ]);
      expect(reader.isComplete).toBe(true);
    }
  });

  test('may have no rows and no columns: a statement that only acts', () => {
    const reader = createJsonTableReader();
    expect(reader.push(Buffer.from('{"dml":"OK","updated":3}'))).toEqual([]);
    expect([...reader.members, reader.columns, reader.isComplete]).toEqual([
      ['dml', 'OK'],
      ['updated', 3],
      undefined,
      true,
    ]);
  });

  test('that was cut off keeps the rows before the cut', () => {
    const reader = createJsonTableReader();
    const rows = reader.push(Buffer.from('{"columns":[{"name":"a","type":"INT"}],"dataset":[[1],[2],[3'));
    expect(rows).toEqual([['1'], ['2']]);
    expect(reader.isComplete).toBe(false);
  });

  test.each([
    '<html>',
    '[1]',
    '{"columns":3}',
    '{"dataset":[[1]]}',
    '{"a":1}x',
    '{"columns":[],"dataset":[[1]]}',
    '{a:1}',
  ])('is refused if it is %s', (text) => {
    expect(() => createJsonTableReader().push(Buffer.from(text))).toThrow('not a JSON table');
  });
});

test.each([
  ['queue;dur=1.500, execute;dur=43.714', { queueMs: 1.5, executeMs: 43.714 }],
  ['db;dur=5, queue;dur=0.000, execute;dur=33', { queueMs: 0, executeMs: 33 }],
  ['execute;dur=1, queue;dur=0, execute;dur=2', { queueMs: 0, executeMs: 2 }],
  ['execute;desc="x";dur=7', { queueMs: 0, executeMs: 7 }],
  ['execute', undefined],
  ['execute;dur=', undefined],
  ['execute;dur=soon', undefined],
  ['', undefined],
  [null, undefined],
])('the header %j means %j', (header, expected) => {
  expect(parseServerTiming(header)).toEqual(expected);
});
