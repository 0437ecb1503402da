import fc from 'fast-check';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { createFileInput, type FileInput } from './decode-steps.ts';

const SIZE = 300_000;
const BYTES = Uint8Array.from({ length: SIZE }, (_, i) => (i * i) >> 3);
const directory = mkdtempSync(join(tmpdir(), 'file-input-'));
const path = join(directory, 'file');
writeFileSync(path, BYTES);
afterAll(() => rmSync(directory, { recursive: true }));

function opened(): FileInput {
  const input = createFileInput(path);
  onTestFinished(() => input.close());
  return input;
}

test('bytes equal those of the file, for any reads and any growth', () => {
  const lengths = fc.array(fc.oneof(fc.nat(100), fc.nat(150_000)), { maxLength: 30 });
  const input = opened();
  fc.assert(
    fc.property(lengths, lengths, (wanted, growths) => {
      input.restart();
      let readable = 0;
      let at = 0;
      for (const [i, length] of wanted.entries()) {
        readable = Math.min(SIZE, readable + (growths[i] ?? SIZE));
        input.grow(readable);
        const target = new Uint8Array(length + 1);
        const count = input.read(target, 1);
        expect(count).toBe(Math.min(length, readable - at));
        expect(Buffer.compare(target.subarray(1, 1 + count), BYTES.subarray(at, at + count))).toBe(0);
        at += count;
        expect(input.position).toBe(at);
      }
    }),
    { numRuns: 50 },
  );
});

test('text comes in chunks, and again from its start', { tags: ['slow'] }, () => {
  const input = opened();
  expect(input.next()).toBeUndefined();
  for (let round = 0; round < 2; round++) {
    input.grow(10);
    expect(input.next()).toEqual(BYTES.slice(0, 10));
    expect(input.next()).toBeUndefined();
    input.grow(SIZE);
    expect(input.next()).toEqual(BYTES.slice(10));
    input.end();
    expect(input.ended).toBe(true);
    input.restart();
    expect([input.ended, input.position, input.next()]).toEqual([false, 0, undefined]);
  }
});

test('a truncated file is an error, not an endless read', () => {
  const shorter = join(directory, 'shorter');
  writeFileSync(shorter, BYTES);
  const input = createFileInput(shorter);
  onTestFinished(() => input.close());
  input.grow(SIZE);
  truncateSync(shorter, 100);
  expect(() => input.read(new Uint8Array(SIZE), 0)).toThrow('The file was truncated to 100 bytes');
});
