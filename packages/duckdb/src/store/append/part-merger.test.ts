import { expect, test } from 'vitest';
import { partsToMerge } from './part-merger.ts';

const sizesOf = (bytes: readonly number[]): readonly number[] =>
  partsToMerge(bytes.map((fileBytes) => ({ path: '', size: { rows: 1, fileBytes } }))).map(
    ({ size }) => size.fileBytes,
  );

test.each<[string, readonly number[], readonly number[]]>([
  ['small parts after a large one', [1000, 1, 1, 1], [1, 1, 1]],
  ['parts of the same size', [5, 5, 5], [5, 5, 5]],
  ['a part that those after it have reached half the size of', [1000, 8, 2, 2], [8, 2, 2]],
  ['no part that is larger than twice those after it', [1000, 9, 2, 2], [2, 2]],
  ['the last two if each is much larger than the next', [1000, 100, 10, 1], [10, 1]],
])('merges %s', (_name, parts, merged) => {
  expect(sizesOf(parts)).toEqual(merged);
});

test('a part is written again only a few times, however many parts there are', () => {
  let parts = [100_000_000];
  let written = 0;
  for (let i = 0; i < 20_000; i++) {
    parts.push(1000);
    if (parts.length <= 64) continue;
    const merged = sizesOf(parts);
    const bytes = merged.reduce((sum, size) => sum + size, 0);
    written += bytes;
    parts = [...parts.slice(0, parts.length - merged.length), bytes];
  }
  expect(written / (20_000 * 1000)).toBeLessThan(10);
  expect(parts[0]).toBe(100_000_000);
});
