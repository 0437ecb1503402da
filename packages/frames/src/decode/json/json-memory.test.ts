import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { decodeBody } from '../../../test/decode-body.ts';

import { buffersOf } from '../../columns/column-data.ts';
import { createByteInput } from '../decode-steps.ts';
import { decodeJson } from './json-decoder.ts';
import { createFrameBudget } from '../limits.ts';

const MEBIBYTE = 1024 * 1024;

/** An object with `columns` fields of one value. */
const wide = (columns: number, value: string) =>
  `{${Array.from({ length: columns }, (_, i) => `"c${i}":${value}`).join(',')}}`;

/** Decodes the body of an expression in a separate process; returns the refusal, and the memory it took. */
async function refusalOf(body: string, maxBytes: number) {
  const built = new URL('../../../dist/decode/', import.meta.url).href;
  const script = `
    import { createByteInput } from '${built}decode-steps.js';
    import { decodeJson } from '${built}json/json-decoder.js';
    import { createFrameBudget } from '${built}limits.js';
    const wide = ${wide.toString()};
    const body = Buffer.from(${body});
    const input = createByteInput();
    for (let at = 0; at < body.length; at += 1 << 20) input.push(body.subarray(at, at + (1 << 20)));
    input.end();
    const before = process.resourceUsage().maxRSS;
    let code = 'decoded';
    try {
      for (const step of decodeJson(input, createFrameBudget(${maxBytes})));
    } catch (error) {
      code = error.code;
    }
    const grownMb = Math.round((process.resourceUsage().maxRSS - before) / 1024);
    process.stdout.write(JSON.stringify({ code, grownMb }));`;
  const options = ['--input-type=module', '-e', script];
  const { stdout } = await promisify(execFile)(process.execPath, options, { timeout: 50_000 });
  const refusal: unknown = JSON.parse(stdout);
  return refusal;
}

describe('a small body of a huge frame is out_of_memory, and uses little memory until then', () => {
  test.each([
    ['rows without the keys of the first', '`[${wide(6000, \'"a"\')}${",{}".repeat(65530)}]`'],
    ['the same with columns of mixed values', '`[${wide(6000, 1)},${wide(6000, \'"a"\')}${",{}".repeat(65530)}]`'],
    ['the same with numbers, over many batches', '`[${wide(9999, 1.5)}${",{}".repeat(1e6)}]`'],
    ['the same with a value in each batch', '`[${`${wide(9999, true)},${"{},".repeat(65535)}`.repeat(30)}{}]`'],
    ['items without the keys of the first', '`[{"a":[${wide(4000, \'"a"\')}${",{}".repeat(1e6)}]}]`'],
    ['objects in a column of text without the keys', '`[{"a":1},{"a":${wide(50, 1)}}${",{}".repeat(4e6)}]`'],
    ['empty arrays', '`[{"a":[${"[],".repeat(4e6)}[]]}]`'],
    ['nulls', '`[{"a":[${"null,".repeat(12e6)}null]}]`'],
    ['integers of many digits', '`[{"a":[${`${"9".repeat(30)},`.repeat(2e5)}1]}]`'],
    ['long names', '`[{"${"a".repeat(3e6)}":1,"${"b".repeat(3e6)}":1}]`'],
    ['a long row', '`[{"a":1${" ".repeat(4e7)}}]`'],
  ])('%s', async (_name, body) => {
    const { code, grownMb } = Object(await refusalOf(body, 10 * MEBIBYTE));
    expect(code).toBe('out_of_memory');
    expect(grownMb).toBeLessThan(150);
  });
});

describe('a frame that fits is decoded', () => {
  test('6000 columns of 100 rows', () => {
    const body = `[${`${wide(6000, '1')},`.repeat(99)}${wide(6000, '"a"')}]`;
    const { batches } = decodeBody(decodeJson, body, { maxBytes: 32 * MEBIBYTE });
    expect(batches.every(({ numCols }) => numCols === 6000)).toBe(true);
    expect(batches.reduce((sum, { numRows }) => sum + numRows, 0)).toBe(100);
  });

  test('50 columns of 65 536 rows with one value each', () => {
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
  ])('of %s, and only the bytes of its batches stay counted', (_name, first, second) => {
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
