import { describe, expect, test } from 'vitest';
import { type ArrowBatchHead, createArrowBatch, readBuffers } from './arrow-batch.ts';
import { createFrameBudget } from '../limits.ts';

function headOf(head: Partial<ArrowBatchHead>): ArrowBatchHead {
  return { rows: 1, nodes: [], buffers: [], partCounts: [], compression: undefined, isV4: false, ...head };
}

function buffersOf(head: Partial<ArrowBatchHead>): Uint8Array[] {
  const reading = readBuffers('record batch 1', headOf(head), new Uint8Array(16), createFrameBudget(100));
  for (;;) {
    const { value, done } = reading.next();
    if (done === true) return value;
  }
}

function batchOf(head: Partial<ArrowBatchHead>) {
  return createArrowBatch('record batch 1', headOf(head), [], createFrameBudget(100));
}

describe('the buffers of a batch', () => {
  test('are views of its body', () => {
    expect(buffersOf({ buffers: [0, 4, 8, 8] }).map(({ byteOffset, length }) => [byteOffset, length])).toEqual([
      [0, 4],
      [8, 8],
    ]);
  });

  test.each([
    ['beyond the body', { buffers: [8, 9] }, 'Record batch 1 has a buffer beyond the end of its 16 bytes.'],
    ['compressed and without a size', { buffers: [0, 4], compression: 'lz4' }, 'compressed with lz4'],
    ['compressed and no frame', { buffers: [0, 16], compression: 'zstd' }, 'compressed with zstd'],
  ] as const)('are refused: %s', (_name, head, message) => {
    expect(() => buffersOf(head)).toThrow(message);
  });
});

describe('a batch is refused that has', () => {
  test.each([
    ['fewer buffers than it needs', () => batchOf({}).nextBuffer(), 'has fewer parts than its schema needs'],
    ['fewer columns than it needs', () => batchOf({ nodes: [1] }).nextNode(), 'has fewer parts than its schema needs'],
    [
      'fewer buffers than it declares',
      () => batchOf({ partCounts: [2 ** 40] }).nextPartCount(),
      'has fewer buffers than it declares',
    ],
    ['columns left over', () => batchOf({ nodes: [1, 0] }).finish(), 'has more parts than its schema needs'],
  ])('%s', (_name, act, message) => {
    expect(act).toThrow(message);
  });
});

test('copies of buffers are counted', () => {
  const batch = batchOf({});
  expect(batch.allocate(60)).toHaveLength(60);
  expect(() => batch.allocate(60)).toThrow('The frame needs more than the 100 bytes that are free for it.');
});
