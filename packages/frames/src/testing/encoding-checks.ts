import { DataType, type Field, type RecordBatch, RecordBatchReader, Schema } from 'apache-arrow';
import { expect } from 'vitest';
import { encodeJsonTable } from '../encode/row-formats.ts';
import type { ResultFormat } from '../encoding.ts';
import { streamOfBatches } from '../streams.ts';
import { bytesOf } from './bytes-of.ts';
import type { SampleFrame } from './sample-frame.ts';

/** Checks the bytes of a sample in a format. */
export type EncodingCheck = (bytes: Uint8Array, sample: SampleFrame) => void | Promise<void>;

/** The checks of all formats that are read here. */
export const ENCODING_CHECKS: Readonly<Record<Exclude<ResultFormat, 'parquet'>, EncodingCheck>> = {
  json: checkJsonTable,
  ndjson: checkNdjson,
  csv: checkCsv,
  arrow: checkArrow,
};

const textOf = (bytes: Uint8Array): string => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
const namesOf = (schema: Schema): string[] => schema.fields.map((field) => field.name);

function checkJsonTable(bytes: Uint8Array, { schema, types, rows }: SampleFrame): void {
  const text = textOf(bytes);
  const columns = namesOf(schema).map((name, i) => ({ name, type: types[i] }));
  const dataset = rows.map((row) => `[${row.json.join(',')}]`).join(',');
  expect(text).toBe(`{"query":"q","columns":${JSON.stringify(columns)},"dataset":[${dataset}],"count":${rows.length}}`);
  expect(JSON.parse(text)).toMatchObject({ columns, count: rows.length });
}

function checkNdjson(bytes: Uint8Array, { schema, rows }: SampleFrame): void {
  const text = textOf(bytes);
  const names = namesOf(schema);
  const lines = rows.map((row) => `{${row.json.map((cell, i) => `${JSON.stringify(names[i])}:${cell}`).join(',')}}\n`);
  expect(text).toBe(lines.join(''));
  const keys = names.toSorted();
  for (const line of text.split('\n').slice(0, -1)) expect(Object.keys(JSON.parse(line)).toSorted()).toEqual(keys);
}

function checkCsv(bytes: Uint8Array, { schema, rows }: SampleFrame): void {
  const quoted = (name: string): string =>
    name === '' || /["\r\n,]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
  const lines = [namesOf(schema).map(quoted), ...rows.map((row) => row.csv)].map((cells) => `${cells.join(',')}\r\n`);
  expect(textOf(bytes)).toBe(schema.fields.length === 0 ? '' : lines.join(''));
}

async function checkArrow(bytes: Uint8Array, sample: SampleFrame): Promise<void> {
  const reader = RecordBatchReader.from(bytes).open();
  const { schema } = reader;
  expect(schema.fields.map(describeField)).toEqual(sample.schema.fields.map(describeField));
  expect(schema.metadata).toEqual(sample.schema.metadata);
  const batches: RecordBatch[] = [];
  for (const batch of reader) {
    checkNullCounts(batch);
    batches.push(batch);
  }
  const read = streamOfBatches(new Schema(schema.fields.map(named)), batches);
  checkJsonTable(await bytesOf(encodeJsonTable(read, { query: 'q' })), sample);
}

function checkNullCounts(batch: RecordBatch): void {
  for (const data of batch.data.children) {
    const counted = DataType.isNull(data.type) ? data.length : data.clone(data.type, 0, data.length, -1).nullCount;
    expect(data.nullCount).toBe(counted);
  }
}

/** All properties of a field, including those its text omits. */
function describeField(field: Field): unknown {
  const { name, type, nullable, metadata } = named(field);
  const { bitWidth, unit, keysSorted, indices, isOrdered } = type;
  const children: readonly Field[] = type.children ?? [];
  return {
    name,
    nullable,
    metadata: Object.fromEntries(metadata),
    type: String(type),
    more: { bitWidth, unit, keysSorted, isOrdered, indices: String(indices) },
    children: children.map(describeField),
  };
}

/** apache-arrow writes and reads an empty name as null. */
function named(field: Field): Field {
  const name: string | null = field.name;
  return name === null ? field.clone({ name: '' }) : field;
}
