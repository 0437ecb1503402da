import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';

const MEBIBYTE = 1024 * 1024;

/** An object with `columns` fields of one value. */
export const wide = (columns: number, value: string) =>
  `{${Array.from({ length: columns }, (_, i) => `"c${i}":${value}`).join(',')}}`;

/** Decodes the body of an expression in a separate process; returns the refusal, and the memory it took. */
async function refusalOf(body: string, maxBytes: number) {
  const built = new URL('../dist/decode/', import.meta.url).href;
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

/** Small bodies of huge frames, as expressions. */
export const SMALL_BODIES = [
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
] as const;

/** Fails where a body is not refused, or takes much until then. */
export async function expectRefused(body: string): Promise<void> {
  const { code, grownMb } = Object(await refusalOf(body, 10 * MEBIBYTE));
  expect(code).toBe('out_of_memory');
  expect(grownMb).toBeLessThan(150);
}
