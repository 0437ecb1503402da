import { describe, expect, test } from 'vitest';
import { expectRefused, SMALL_BODIES, wide } from '../../../test/refused-bodies.ts';
import { decodeBody } from '../../../test/decode-body.ts';
import { buffersOf } from '../../columns/column-data.ts';
import { createByteInput } from '../decode-steps.ts';
import { decodeJson } from './json-decoder.ts';
import { createFrameBudget } from '../limits.ts';
import { byTier } from '../../../../../test/tier.ts';

const MEBIBYTE = 1024 * 1024;

describe('a small body of a huge frame is out_of_memory, and uses little memory until then', () => {
  for (const [options, bodies] of byTier(SMALL_BODIES.slice(0, 3))) {
    test.each(bodies)('%s', options, (_name, body) => expectRefused(body));
  }
});

describe('a frame that fits is decoded', () => {
  test('6000 columns of 100 rows', { tags: ['slow'] }, () => {
    const body = `[${`${wide(6000, '1')},`.repeat(99)}${wide(6000, '"a"')}]`;
    const { batches } = decodeBody(decodeJson, body, { maxBytes: 32 * MEBIBYTE });
    expect(batches.every(({ numCols }) => numCols === 6000)).toBe(true);
    expect(batches.reduce((sum, { numRows }) => sum + numRows, 0)).toBe(100);
  });

  test('50 columns of 65 536 rows with one value each', { tags: ['slow'] }, () => {
    const body = `[${Array.from({ length: 65_536 }, (_, i) => `{"c${i % 50}":${i}}`).join(',')}]`;
    const { batches } = decodeBody(decodeJson, body, { maxBytes: 64 * MEBIBYTE });
    const rows = [49, 50, 65_535].map((row) => Object.entries(batches[0].get(row)?.toJSON() ?? {}));
    expect(rows.map((entries) => entries.filter(([, value]) => value !== null))).toEqual([
      [['c49', 49n]],
      [['c0', 50n]],
      [['c35', 65_535n]],
    ]);
  });

  test.each([
    ['numbers', '{"a":1}', '{"a":2.5}'],
    ['text', '{"a":"x"}', '{"a":"y"}'],
    ['mixed values', '{"a":"x"}', '{"a":[{"b":1}]}'],
    ['nested values', '{"a":[{"b":1},{"c":[2]}]}', '{"a":[]}'],
  ])('of %s, and only the bytes of its batches stay counted', { tags: ['slow'] }, (_name, first, second) => {
    const budget = createFrameBudget(64 * MEBIBYTE);
    const input = createByteInput();
    input.push(Buffer.from(`[${`${first},{},${second},`.repeat(40_000)}{}]`));
    input.end();
    let bytes = 0;
    for (const step of decodeJson(input, budget)) {
      if (step.kind === 'batch') for (const buffer of buffersOf(step.columns)) bytes += buffer.byteLength;
    }
    expect(bytes).toBeGreaterThan(0);
    expect(budget.usedBytes - bytes).toBeLessThan(100);
    expect(budget.usedBytes).toBeGreaterThanOrEqual(bytes);
  });
});
