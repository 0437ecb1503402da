import { describe, expect, test } from 'vitest';
import { createFrameBudget } from '../limits.ts';
import { decompressZstdFrame } from './zstd-frame.ts';

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
