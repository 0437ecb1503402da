import { TYPE_METADATA_KEY } from '@svc/arrow';
import {
  Decimal,
  Dictionary,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Int32,
  Int64,
  LargeList,
  List,
  Map_,
  Struct,
  TimestampMicrosecond,
  Utf8,
  Utf8View,
} from 'apache-arrow';
import {
  bytes,
  decimals,
  dictionaryOf,
  fixedBytes,
  fixedListsOf,
  listsOf,
  longs,
  mapsOf,
  numbers,
  structsOf,
  views,
} from './column-builders.ts';
import { bare, both, NULL, sampleColumn, type SampleColumn } from './sample-frame.ts';
import { UUID_METADATA, UUIDS } from './sample-texts.ts';

const ints = new Field('item', new Int32(), true);
const symbols = new Dictionary(new Utf8(), new Int32());
const pair = new Struct([new Field('a', new Int32(), true), new Field('b "x"', new Utf8(), true)]);
const entries = new Field(
  'entries',
  new Struct([new Field('key', new Utf8(), false), new Field('value', new Int64(), true)]),
  false,
);
const deep = new Map_<Int32, List>(
  new Field(
    'entries',
    new Struct([
      new Field('key', new Int32(), false),
      new Field(
        'value',
        new List(
          new Field(
            'item',
            new Struct([
              new Field('at', new TimestampMicrosecond(), true),
              new Field('amount', new Decimal(2, 10, 128), true),
              new Field('symbols', new FixedSizeList(2, new Field('item', symbols, true)), true),
            ]),
            true,
          ),
        ),
        true,
      ),
    ]),
    false,
  ),
);
const [firstUuid, , lastUuid] = UUIDS;

/** A list of keys and values of different types is read as texts; nulls are omitted from their objects. */
function readPairs(json: string): string {
  // Quote integers past 2^53 before the parser reads them as doubles.
  const pairs: unknown = JSON.parse(json.replace(/\d{16,}/g, '"$&"'));
  return JSON.stringify(pairs, (_, value: unknown) =>
    Array.isArray(value) && value.length === 2 && !Array.isArray(value[0]) ? value.map(readItem) : value,
  );
}

function readItem(item: unknown): unknown {
  if (item === null || typeof item === 'string') return item;
  return JSON.stringify(item, (_, value: unknown) => (isObject(value) ? withoutNulls(value) : value));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function withoutNulls(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
}

/** Lists, structs, maps, and combinations of them. */
export const NESTED_COLUMNS: Readonly<Record<string, SampleColumn>> = {
  list: sampleColumn('ARRAY', new List(ints), listsOf(numbers), [
    [[1, null], both('[1,null]', '"[1,null]"')],
    [[], bare('[]')],
    [null, NULL],
    [[7], bare('[7]')],
    [[1, 2, 3, 4, 5, 6, 7, 8, 9], both('[1,2,3,4,5,6,7,8,9]', '"[1,2,3,4,5,6,7,8,9]"')],
  ]),
  'large list': sampleColumn('ARRAY', new LargeList(ints), listsOf(numbers), [
    [[1, 2], both('[1,2]', '"[1,2]"')],
    [null, NULL],
    [[], bare('[]')],
  ]),
  'fixed-size list': sampleColumn('ARRAY', new FixedSizeList(2, ints), fixedListsOf(numbers), [
    [[1, 2], both('[1,2]', '"[1,2]"')],
    [null, NULL],
    [[3, null], both('[3,null]', '"[3,null]"')],
  ]),
  'list of utf8': sampleColumn('ARRAY', new List(new Field('item', new Utf8(), true)), listsOf(bytes), [
    [['a,', '"'], both(String.raw`["a,","\""]`, String.raw`"[""a,"",""\""""]"`)],
    [null, NULL],
    [[null, ''], both('[null,""]', '"[null,""""]"')],
  ]),
  'list of utf8 view': sampleColumn('ARRAY', new List(new Field('item', new Utf8View(), true)), listsOf(views), [
    [
      ['a', 'longer than twelve bytes'],
      both('["a","longer than twelve bytes"]', '"[""a"",""longer than twelve bytes""]"'),
    ],
    [null, NULL],
    [['another that is long'], both('["another that is long"]', '"[""another that is long""]"')],
  ]),
  'list of symbols': sampleColumn(
    'ARRAY',
    new List(new Field('item', new Dictionary(new Utf8(), new Int32()), true)),
    listsOf(dictionaryOf(bytes)),
    [
      [['a', 'b', null, 'a'], both('["a","b",null,"a"]', '"[""a"",""b"",null,""a""]"')],
      [null, NULL],
    ],
  ),
  'list of uuid': sampleColumn(
    'ARRAY',
    new List(new Field('item', new FixedSizeBinary(16), true, new Map(Object.entries(UUID_METADATA)))),
    listsOf(fixedBytes),
    [
      [[firstUuid[0], null], both(`[${firstUuid[1].json},null]`, `"[""${firstUuid[1].csv}"",null]"`)],
      [null, NULL],
      [[lastUuid[0]], both(`[${lastUuid[1].json}]`, `"[""${lastUuid[1].csv}""]"`)],
    ],
  ),
  struct: sampleColumn('STRUCT', pair, structsOf(numbers, bytes), [
    [[1, 'x'], both(String.raw`{"a":1,"b \"x\"":"x"}`, String.raw`"{""a"":1,""b \""x\"""":""x""}"`)],
    [null, NULL],
    [[null, null], both(String.raw`{"a":null,"b \"x\"":null}`, String.raw`"{""a"":null,""b \""x\"""":null}"`)],
  ]),
  'struct without fields': sampleColumn('STRUCT', new Struct([]), structsOf(), [
    [[], bare('{}')],
    [null, NULL],
  ]),
  'struct of int128': sampleColumn(
    'STRUCT',
    new Struct([new Field('n', new Decimal(0, 38, 128), true, new Map([[TYPE_METADATA_KEY, 'LONG128']]))]),
    structsOf(decimals),
    [
      [[2n ** 100n], both(`{"n":${2n ** 100n}}`, `"{""n"":${2n ** 100n}}"`)],
      [null, NULL],
    ],
    { readText: (json) => json.replace(/\d+/, '"$&"') },
  ),
  map: sampleColumn(
    'MAP',
    new Map_<Utf8, Int64>(entries),
    mapsOf(bytes, longs),
    [
      [[['a', 1n]], both('[["a",1]]', '"[[""a"",1]]"')],
      [
        [
          ['b', null],
          ['"', 2n ** 63n - 1n],
        ],
        both(
          String.raw`[["b",null],["\"",9223372036854775807]]`,
          String.raw`"[[""b"",null],[""\"""",9223372036854775807]]"`,
        ),
      ],
      [[], bare('[]')],
      [null, NULL],
    ],
    { readText: readPairs },
  ),
  'map of lists of structs': sampleColumn(
    'MAP',
    deep,
    mapsOf(numbers, listsOf(structsOf(longs, decimals, fixedListsOf(dictionaryOf(bytes))))),
    [
      [
        [
          [1, [[0n, 110n, ['a', 'b']], null]],
          [2, null],
        ],
        both(
          '[[1,[{"at":"1970-01-01T00:00:00.000000Z","amount":"1.10","symbols":["a","b"]},null]],[2,null]]',
          '"[[1,[{""at"":""1970-01-01T00:00:00.000000Z"",""amount"":""1.10"",""symbols"":[""a"",""b""]},null]],[2,null]]"',
        ),
      ],
      [null, NULL],
      [
        [[3, [[null, -1n, null]]]],
        both(
          '[[3,[{"at":null,"amount":"-0.01","symbols":null}]]]',
          '"[[3,[{""at"":null,""amount"":""-0.01"",""symbols"":null}]]]"',
        ),
      ],
      [[], bare('[]')],
    ],
    { readText: readPairs },
  ),
};
