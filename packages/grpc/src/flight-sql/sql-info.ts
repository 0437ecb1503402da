import type { FrameStream } from '@svc/frames';
import {
  Bool,
  DenseUnion,
  Field,
  Int32,
  Int64,
  List,
  makeData,
  Map_ as ArrowMap,
  Schema,
  Struct,
  Uint32,
  Utf8,
} from 'apache-arrow';
import { columnOf, streamOfColumns } from './small-table.ts';
import { type SqlInfoOptions, type SqlInfoValue, sqlInfoValues } from './sql-info-values.ts';

const ENTRIES = new Struct<{ key: Int32; value: List<Int32> }>([
  new Field('key', new Int32(), false),
  new Field('value', new List(new Field('item', new Int32(), true)), true),
]);

/** The kinds of values; the index of each is its type id in the union. */
const KINDS = [
  new Field('string_value', new Utf8(), false),
  new Field('bool_value', new Bool(), false),
  new Field('bigint_value', new Int64(), false),
  new Field('int32_bitmask', new Int32(), false),
  new Field('string_list', new List(new Field('item', new Utf8(), true)), false),
  new Field('int32_to_int32_list_map', new ArrowMap(new Field('entries', ENTRIES, false)), false),
];
const UNION = new DenseUnion(
  KINDS.map((_, i) => i),
  KINDS,
);

/** The schema of CommandGetSqlInfo. */
export const SQL_INFO_SCHEMA: Schema = new Schema([
  new Field('info_name', new Uint32(), false),
  new Field('value', UNION, false),
]);

/** Returns the info values with these numbers, or all; unknown numbers are omitted. */
export function sqlInfo(numbers: readonly number[], options: SqlInfoOptions): FrameStream {
  const all = sqlInfoValues(options);
  const asked = new Set(numbers);
  const wanted = [...all].filter(([number]) => asked.size === 0 || asked.has(number));
  const places = wanted.map(([, value]) => contentOf(value));
  const contents = KINDS.map((_, kind) => places.filter((place) => place.kind === kind));
  const union = makeData({
    type: UNION,
    length: wanted.length,
    nullCount: 0,
    typeIds: Int8Array.from(places, ({ kind }) => kind),
    valueOffsets: Int32Array.from(places, (place) => contents[place.kind]?.indexOf(place) ?? 0),
    children: KINDS.map((field, kind) => columnOf(field, contents[kind]?.map(({ content }) => content) ?? [])),
  });
  const names = makeData({ type: new Uint32(), data: Uint32Array.from(wanted, ([number]) => number) });
  return streamOfColumns(SQL_INFO_SCHEMA, wanted.length, [names, union]);
}

function contentOf(value: SqlInfoValue): { readonly kind: number; readonly content: unknown } {
  if (typeof value === 'string') return { kind: 0, content: value };
  if (typeof value === 'boolean') return { kind: 1, content: value };
  if (typeof value === 'bigint') return { kind: 2, content: value };
  if ('choice' in value) return { kind: 3, content: value.choice };
  return 'texts' in value ? { kind: 4, content: value.texts } : { kind: 5, content: value.conversions };
}
