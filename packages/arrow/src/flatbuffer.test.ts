import { describe, expect, test } from 'vitest';
import { readFlatbuffer } from './flatbuffer.ts';

/**
 * A table with a byte, a short, an int, a 64-bit size, a text, a table outside of the bytes, and vectors: an empty one of
 * tables, one of sizes and one of ints.
 */
function bytesOfTable(): Uint8Array {
  const bytes = new Uint8Array(128);
  const view = new DataView(bytes.buffer);
  const [vtable, root] = [4, 28];
  view.setUint32(0, root, true);
  const places = [4, 6, 8, 16, 24, 28, 32, 36, 40];
  [4 + 2 * places.length, 44, ...places].forEach((value, i) => view.setUint16(vtable + 2 * i, value, true));
  view.setInt32(root, root - vtable, true);
  bytes[root + 4] = 200;
  view.setInt16(root + 6, -2, true);
  view.setInt32(root + 8, -3, true);
  view.setBigInt64(root + 16, 5n, true);
  const refer = (place: number, target: number): void => view.setUint32(root + place, target - root - place, true);
  refer(24, 72);
  view.setUint32(72, 5, true);
  bytes.set(new TextEncoder().encode('\ufeffé'), 76);
  view.setUint32(root + 28, 2 ** 32 - 28, true);
  refer(36, 84);
  view.setUint32(84, 2, true);
  view.setBigInt64(88, 7n, true);
  view.setBigInt64(96, 8n, true);
  refer(40, 104);
  view.setUint32(104, 1, true);
  view.setInt32(108, -9, true);
  refer(32, 112);
  view.setUint32(112, 0, true);
  return bytes;
}

const bytes = bytesOfTable();

describe('a flatbuffer', () => {
  test('has the values of its fields; a U+FEFF is part of a text', () => {
    const table = readFlatbuffer(bytes);
    expect([table.byte(0), table.short(1), table.int(2), table.size(3), table.text(4)]).toEqual([
      200,
      -2,
      -3,
      5,
      '\ufeffé',
    ]);
    expect([table.tables(6), table.sizes(7, 1), table.ints(8), table.count(7, 8)]).toEqual([[], [7, 8], [-9], 2]);
  });

  test('has the defaults of fields that are missing', () => {
    const table = readFlatbuffer(bytes);
    expect([table.byte(20), table.short(20, 1), table.int(20), table.size(20), table.text(20)]).toEqual([
      0,
      1,
      0,
      0,
      '',
    ]);
    expect([table.table(20), table.tables(20), table.sizes(20, 2), table.count(20, 8)]).toEqual([undefined, [], [], 0]);
  });

  test('decodes texts with the function of the caller', () => {
    expect(readFlatbuffer(bytes, (start, end) => `${start}-${end}`).text(4)).toBe('76-81');
  });

  test('in other memory is read only up to its own end', () => {
    expect(() => readFlatbuffer(bytes.subarray(0, 80)).text(4)).toThrow(RangeError);
    expect(() => readFlatbuffer(bytes.subarray(0, 100)).sizes(7, 1)).toThrow(RangeError);
  });

  test('with a table or a size that cannot be is a RangeError', () => {
    expect(() => readFlatbuffer(bytes).table(5)).toThrow(RangeError);
    const negative = bytes.slice();
    new DataView(negative.buffer).setBigInt64(28 + 16, -1n, true);
    expect(() => readFlatbuffer(negative).size(3)).toThrow('A length is outside of the bytes.');
  });

  test('with any byte changed is read, or is a RangeError', () => {
    for (let at = 0; at < bytes.length; at += 1) {
      for (const value of [0, 1, 127, 128, 255]) {
        const broken = bytes.slice();
        broken[at] = value;
        for (let slot = 0; slot < 10; slot += 1) {
          try {
            const table = readFlatbuffer(broken);
            table.text(slot);
            table.sizes(slot, 1);
          } catch (error) {
            expect(error).toBeInstanceOf(RangeError);
          }
        }
      }
    }
  });
});
