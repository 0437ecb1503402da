import { fstatSync, mkdtempSync, openSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { type BatchFile, type BatchPlaces, createBatchPlaces, openBatchFile, PLACE_BYTES } from './batch.ts';

const MIN_BYTES = 64 * 1024;

function openBoth(): { file: BatchFile; places: BatchPlaces } {
  const file = openBatchFile();
  if (file === undefined) throw new Error('There is no file here.');
  onTestFinished(() => file.close());
  return { file, places: createBatchPlaces(file.descriptor) };
}

const hasFile = process.platform !== 'win32';

test.runIf(hasFile)('what was put is taken as it was, whatever its parts and in whichever order', () => {
  const { file, places } = openBoth();
  const part = fc.nat({ max: 70_000 }).map((length) => new Uint8Array(length).fill(length % 251));
  const payload = fc.array(part, { minLength: 1, maxLength: 5 }).filter((parts) => lengthOf(parts) >= MIN_BYTES);
  const memory = new ArrayBuffer(PLACE_BYTES);
  fc.assert(
    fc.property(fc.array(fc.tuple(payload, fc.boolean()), { maxLength: 8 }), fc.boolean(), (payloads, isReversed) => {
      const put = payloads.map(([parts, reuseBuffers]) => {
        const place = places.put(parts, lengthOf(parts)) ?? -1;
        return { parts, reuseBuffers, batch: file.arrived(place, lengthOf(parts), () => places.free(place)) };
      });
      for (const { parts, reuseBuffers, batch } of isReversed ? put.toReversed() : put) {
        const taken = batch.take(reuseBuffers ? () => memory : undefined);
        if (!reuseBuffers) expect(taken.byteLength).toBe(lengthOf(parts));
        expect(Buffer.from(taken, 0, lengthOf(parts)).equals(Buffer.concat(parts))).toBe(true);
      }
    }),
    { numRuns: 30 },
  );
});

function lengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

test.runIf(hasFile)('only what is long, but not too long, is put', () => {
  const { places } = openBoth();
  const put = (length: number) => places.put([new Uint8Array(length)], length) !== undefined;
  expect([0, MIN_BYTES - 1, MIN_BYTES, PLACE_BYTES, PLACE_BYTES + 1].map(put)).toEqual([
    false,
    false,
    true,
    true,
    false,
  ]);
});

test.runIf(hasFile)('each place holds one batch until it is freed', () => {
  const { places } = openBoth();
  const put = () => places.put([new Uint8Array(MIN_BYTES)], MIN_BYTES);
  const taken = Array.from({ length: 8 }, put);
  expect(new Set(taken).size).toBe(8);
  expect(taken).not.toContain(undefined);
  expect(put()).toBeUndefined();
  places.free(5);
  expect([put(), put()]).toEqual([5, undefined]);
});

test.runIf(hasFile)('what cannot be written is not put, and takes no place', () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-places-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'read-only'), '');
  const places = createBatchPlaces(openSync(join(directory, 'read-only'), 'r'));
  for (let i = 0; i < 20; i++) expect(places.put([new Uint8Array(MIN_BYTES)], MIN_BYTES)).toBeUndefined();
});

test.runIf(hasFile)('the file has no name, and is closed when the last batch in it was taken or dropped', () => {
  const { file, places } = openBoth();
  // Not by listing folders: other processes create such files at the same time.
  if (process.platform === 'linux') expect(readlinkSync(`/proc/self/fd/${file.descriptor}`)).toMatch(/ \(deleted\)$/);
  const freed: number[] = [];
  const [first, second] = [1, 2].map((value) => {
    const place = places.put([new Uint8Array(MIN_BYTES).fill(value)], MIN_BYTES) ?? -1;
    return file.arrived(place, MIN_BYTES, () => freed.push(value));
  });
  file.close();
  file.close();
  first?.drop();
  expect(new Uint8Array(second?.take() ?? new ArrayBuffer(0)).every((byte) => byte === 2)).toBe(true);
  expect(freed).toEqual([1, 2]);
  expect(() => fstatSync(file.descriptor)).toThrow('EBADF');
});
