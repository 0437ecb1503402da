import { ServiceError } from '@svc/errors';
import { Field, List, Null, Utf8View } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../test/decode-body.ts';
import { type ColumnData, INLINE_BYTES, VIEW_BYTES } from './column-data.ts';
import { joinColumns, type Joining, wholeColumn } from './join-columns.ts';

const joining: Joining = {
  allocate: (bytes) => new Uint8Array(bytes),
  tooLarge: (what) => new ServiceError('invalid_data', `The thing: ${what}.`),
};

/** A column of views into one data buffer; a row without a place is null. */
function viewsOf(part: string, places: readonly (readonly [start: number, length: number] | undefined)[]): ColumnData {
  const values = Buffer.from(new ArrayBuffer(VIEW_BYTES * places.length));
  const validity = new Uint8Array(Math.ceil(places.length / 8));
  places.forEach((place, row) => {
    // The view of a null row must not matter.
    const [start, length] = place ?? [99_999, 12_345];
    values.writeInt32LE(length, VIEW_BYTES * row);
    values.write(part.slice(start, start + 4), VIEW_BYTES * row + 4);
    values.writeInt32LE(place ? 0 : 77, VIEW_BYTES * row + 8);
    values.writeInt32LE(start, VIEW_BYTES * row + 12);
    if (place) validity[row >> 3] |= 1 << (row & 7);
  });
  const nullCount = places.filter((place) => place === undefined).length;
  const parts = [new Uint8Array(Buffer.from(part))];
  return { length: places.length, nullCount, validity, values: new Uint8Array(values), parts };
}

function textsOf({ values, parts = [], validity }: ColumnData): (string | null)[] {
  const views = Buffer.from(values instanceof Uint8Array ? values : new Uint8Array(0));
  return Array.from({ length: views.length / VIEW_BYTES }, (_, row) => {
    if (validity !== undefined && (validity[row >> 3] & (1 << (row & 7))) === 0) return null;
    const [length, , part, start] = [0, 4, 8, 12].map((at) => views.readInt32LE(VIEW_BYTES * row + at));
    expect(length).toBeGreaterThan(INLINE_BYTES);
    return Buffer.from(parts[part].subarray(start, start + length)).toString();
  });
}

const join = (...columns: ColumnData[]) => joinColumns(new Utf8View(), columns.map(wholeColumn), joining);

describe('joined views', () => {
  const text = 'a text of forty characters, and no more..';

  test('have only the bytes that rows use', () => {
    const long = text.padEnd(10_000, '.');
    const joined = join(viewsOf(long, [[0, 20], undefined]), viewsOf(long, [[2, 30]]));
    expect(textsOf(joined)).toEqual([text.slice(0, 20), null, text.slice(2, 32)]);
    expect(joined.parts?.map((part) => part.length)).toEqual([50]);
  });

  test('share bytes if the originals did', () => {
    const shared = Array.from({ length: 100 }, () => [0, 40] as const);
    const joined = join(viewsOf(text, shared), viewsOf(text, [[1, 39]]));
    expect(textsOf(joined)).toEqual([...shared.map(() => text.slice(0, 40)), text.slice(1, 40)]);
    expect(joined.parts?.map((part) => part.length)).toEqual([text.length + 39]);
  });

  test('have no data buffers if no row needs one', () => {
    expect(join(viewsOf(text, [undefined]), viewsOf(text, [undefined])).parts).toEqual([]);
  });
});

test('a column too large for its offsets fails with the error of the caller', () => {
  const items = 2 ** 31 - 1;
  const offsets = Int32Array.of(0, items);
  const column = { length: 1, nullCount: 0, offsets, children: [{ length: items, nullCount: items }] };
  const type = new List(new Field('item', new Null(), true));
  const error = refusalOf(() => joinColumns(type, [wholeColumn(column), wholeColumn(column)], joining));
  expect(error.message).toBe(
    'The thing: its values have more than 2147483647 bytes or items, the limit of 32-bit offsets.',
  );
});
