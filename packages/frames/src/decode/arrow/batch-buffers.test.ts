import { describe, expect, test } from 'vitest';
import { createFrameBudget } from '../limits.ts';
import { type ArrowBatchHead, createArrowBatch, decompressZstdFrame, readBuffers } from './batch-buffers.ts';

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

/** A frame without a content size. */
function frameOf(...blocks: { readonly kind: 'raw' | 'run'; readonly content: string; readonly times?: number }[]) {
  const parts = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x50])];
  blocks.forEach(({ kind, content, times = 1 }, i) => {
    const head = Buffer.alloc(3);
    const size = kind === 'run' ? times : content.length;
    head.writeUIntLE((size << 3) | (kind === 'run' ? 2 : 0) | (i === blocks.length - 1 ? 1 : 0), 0, 3);
    parts.push(head, Buffer.from(content));
  });
  return Buffer.concat(parts);
}

function decompressed(frame: Uint8Array, bytes: number): string {
  const target = new Uint8Array(bytes);
  decompressZstdFrame(frame, target, createFrameBudget(1000));
  return Buffer.from(target).toString();
}

const FRAMES = [
  ['a raw block', frameOf({ kind: 'raw', content: 'hello' }), 'hello'],
  ['a run', frameOf({ kind: 'run', content: 'x', times: 9 }), 'xxxxxxxxx'],
  [
    'several blocks',
    frameOf(
      { kind: 'raw', content: 'ab' },
      { kind: 'run', content: '-', times: 3 },
      { kind: 'raw', content: '' },
      { kind: 'raw', content: 'cd' },
    ),
    'ab---cd',
  ],
  ['an empty block', frameOf({ kind: 'raw', content: '' }), ''],
] as const;

describe('a frame without a content size', () => {
  test.each(FRAMES)('%s is read into a target of its size', (_name, frame, content) => {
    expect(decompressed(frame, content.length)).toBe(content);
  });

  test.each(FRAMES)('%s is refused if the target is larger or smaller', (_name, frame, content) => {
    for (const bytes of [content.length + 1, content.length + 100, content.length - 1].filter((size) => size >= 0)) {
      expect(() => decompressed(frame, bytes)).toThrow();
    }
  });

  test.each(FRAMES)('%s is refused if it is truncated', (_name, frame, content) => {
    for (let length = 0; length < frame.length; length++) {
      expect(() => decompressed(frame.subarray(0, length), content.length)).toThrow();
    }
  });
});
