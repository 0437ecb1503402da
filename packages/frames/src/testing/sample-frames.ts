import {
  Dictionary,
  Field,
  Int32,
  Int64,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  tableFromIPC,
  tableToIPC,
  Table,
  Utf8,
} from 'apache-arrow';
import { createRecordBatch } from '../columns/record-batch.ts';
import { type FrameStream, streamOfBatches } from '../streams.ts';
import { bytes, dictionaryOf, longs, numbers } from './column-builders.ts';
import {
  both,
  cycle,
  frameOfColumn,
  frameOfColumns,
  NULL,
  readingOf,
  type SampleFrame,
  sampleColumn,
  text,
  bare,
} from './sample-frame.ts';
import { NESTED_COLUMNS } from './sample-nested.ts';
import { NUMBER_COLUMNS } from './sample-numbers.ts';
import { TEXT_COLUMNS } from './sample-texts.ts';
import { TIME_COLUMNS } from './sample-times.ts';

const COLUMNS = { ...NUMBER_COLUMNS, ...TIME_COLUMNS, ...TEXT_COLUMNS, ...NESTED_COLUMNS };

function allNull(): SampleFrame {
  const columns = Object.values(COLUMNS).filter(({ field }) => field.nullable);
  const frame = frameOfColumns('all null, of every type', columns, 9);
  const children = columns.map((column) => column.buildNulls(9));
  const row = { json: columns.map(() => NULL.json), csv: columns.map(() => NULL.csv) };
  return {
    ...frame,
    batches: [createRecordBatch(frame.schema, 9, children)],
    rows: cycle([row], 9),
    reading: readingOf(
      frame.schema.fields.map(({ name }) => ({ name, type: 'STRING' })),
      cycle([row.json], 9),
    ),
  };
}

function withoutColumns(name: string, rows: number): SampleFrame {
  const schema = new Schema([]);
  const batches = rows === 0 ? [] : [createRecordBatch(schema, rows, [])];
  return {
    name,
    schema,
    batches,
    types: [],
    rows: cycle([{ json: [], csv: [] }], rows),
    reading: readingOf([], cycle([[]], rows)),
  };
}

function namedColumns(): SampleFrame {
  const names = ['plain', '', 'a,b', 'say "x"', 'two\r\nlines', 'é😀', '__proto__', 'constructor', '1'];
  const column = sampleColumn('INT', new Int32(), numbers, [[1, bare('1')]]);
  const frame = frameOfColumns('columns with names of all kinds', Array(names.length).fill(column), 2);
  const schema = new Schema(frame.schema.fields.map((field, i) => field.clone({ name: names[i] })));
  const [{ data }] = frame.batches;
  const columns = frame.reading.columns.map(({ type }, i) => ({ name: names[i], type }));
  return {
    ...frame,
    schema,
    batches: [createRecordBatch(schema, 2, data.children)],
    reading: { ...frame.reading, columns },
  };
}

function dictionariesOfBatches(): SampleFrame {
  const type = new Dictionary(new Utf8(), new Int32());
  const schema = new Schema([new Field('c', type, true)]);
  const words = [['a', 'b', null], ['c'], [], ['d', 'a', 'e', null, 'd']];
  const cells = words.flat().map((word) => (word === null ? NULL : text(word)));
  return {
    name: 'batches with a dictionary each, one of them empty',
    schema,
    batches: words.map((values) => createRecordBatch(schema, values.length, [dictionaryOf(bytes)(type, values)])),
    types: ['SYMBOL'],
    rows: cells.map(({ json, csv }) => ({ json: [json], csv: [csv] })),
    reading: readingOf(
      [{ name: 'c', type: 'STRING' }],
      cells.map(({ json }) => [json]),
    ),
  };
}

const HUGE = 'x'.repeat(400_000);
const HUGE_QUOTES = '",\n'.repeat(100_000);

/** Frames with every supported Arrow type, and special cases. */
export const SAMPLE_FRAMES: readonly SampleFrame[] = [
  ...Object.entries(COLUMNS).map(([name, column]) => frameOfColumn(name, column)),
  frameOfColumns('every type side by side', Object.values(COLUMNS), 37),
  { ...frameOfColumns('empty, of every type', Object.values(COLUMNS), 0), batches: [] },
  frameOfColumns('one batch of no rows', Object.values(COLUMNS), 0),
  allNull(),
  withoutColumns('without columns or rows', 0),
  withoutColumns('without columns', 3),
  frameOfColumns('wide', Array(1000).fill(NUMBER_COLUMNS.int32), 3),
  namedColumns(),
  dictionariesOfBatches(),
  frameOfColumn(
    'huge texts',
    sampleColumn('STRING', new Utf8(), bytes, [
      [HUGE, text(HUGE)],
      ['short', text('short')],
      [HUGE_QUOTES, both(JSON.stringify(HUGE_QUOTES), `"${HUGE_QUOTES.replaceAll('"', '""')}"`)],
    ]),
    3,
  ),
];

/** A frame with one LONG column `id` that counts from `start`, in batches of `batchRows`. */
export function longFrame(
  rows: number,
  { start = 0, batchRows = rows }: { start?: number; batchRows?: number } = {},
): FrameStream {
  const schema = new Schema([new Field('id', new Int64(), false)]);
  function* batches() {
    for (let at = 0; at < rows; at += batchRows) {
      const length = Math.min(batchRows, rows - at);
      const values = Array.from({ length }, (_, i) => BigInt(start + at + i));
      yield createRecordBatch(schema, length, [longs(new Int64(), values)]);
    }
  }
  return streamOfBatches(schema, batches());
}

/** All rows of a stream as plain values, for comparisons in tests. */
export async function readRows(stream: FrameStream): Promise<unknown[][]> {
  const rows: unknown[][] = [];
  for await (const batch of stream.batches) {
    // Through IPC and back, so a batch with invalid buffers does not compare equal by chance.
    const table = tableFromIPC(tableToIPC(new Table(batch)));
    for (const row of table) rows.push(Object.values(row?.toJSON() ?? {}));
  }
  return rows;
}

/** A frame that is read with `reuseBuffers`: each batch is overwritten on the next `next()`. */
export function spoiltFrame({ schema, batches }: FrameStream): FrameStream {
  return { schema, batches: spoiltBatches(schema, batches) };
}

async function* spoiltBatches(schema: Schema, batches: AsyncIterable<RecordBatch>): AsyncGenerator<RecordBatch> {
  for await (const batch of batches) {
    const written = RecordBatchStreamWriter.writeAll(new Table([batch])).toUint8Array(true);
    for (const own of tableFromIPC(written).batches) {
      yield new RecordBatch(schema, own.data);
    }
    written.fill(0xee);
  }
}
