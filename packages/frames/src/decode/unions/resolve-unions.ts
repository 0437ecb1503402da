import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { type Data, Field, Schema, Utf8 } from 'apache-arrow';
import { childrenOf, typeOf } from '../../arrow-types.ts';
import { columnInfo } from '../../column-types.ts';
import { createRecordBatch } from '../../columns/create-record-batch.ts';
import { createFrameBytes } from '../../columns/frame-bytes.ts';
import { nullColumn } from '../../columns/null-column.ts';
import { dataFrom } from '../../columns/record-batch.ts';
import { type FrameStream, streamOfBatches } from '../../frame-stream.ts';
import { allocate } from '../limits.ts';
import { commonField } from './common-type.ts';
import { convertExactly } from './convert-exactly.ts';
import { firstValues } from './first-values.ts';
import { isUnion } from './union-schema.ts';

/** The most bytes of rows with unions: they wait in memory, because the last row may determine the type of a column. */
const MAX_BYTES = 64 * 1024 * 1024;

/** The parts of a column in a batch: the types of a union that have a value there, by their index, or the whole column. */
type Parts = ReadonlyMap<number, Data>;

interface Kept {
  readonly rows: number;
  readonly columns: readonly Parts[];
}

/**
 * Replaces the structs of `unionsAsStructs` by columns of one type, once all rows are there. `sent` is the schema with the
 * unions; without any, the rows are passed on as they are.
 */
export async function resolveUnions(sent: Schema, rows: FrameStream): Promise<FrameStream> {
  const { fields, metadata } = sent;
  if (!fields.some(isUnion)) return rows;
  const kept: Kept[] = [];
  const counter = createFrameBytes();
  let bytes = 0;
  for await (const batch of rows.batches) {
    const all: readonly Data[] = batch.data.children;
    const columns = all.map((column, i) => (isUnion(fields[i]) ? partsWithValues(column) : new Map([[0, column]])));
    const parts = columns.flatMap((column) => [...column.values()]);
    bytes += counter.add(createRecordBatch(NO_COLUMNS, batch.numRows, parts));
    if (bytes > MAX_BYTES) throw tooLarge();
    kept.push({ rows: batch.numRows, columns });
  }
  const resolved = fields.map((field, i) => (isUnion(field) ? resolvedField(field, i, kept) : field));
  const firstRows = kept.map((_, i) => kept.slice(0, i).reduce((sum, batch) => sum + batch.rows, 0));
  const schema = new Schema(resolved, metadata);
  const batches = kept.map((batch, i) => {
    const columns = batch.columns.map((parts, at) =>
      columnOf(fields[at], resolved[at], parts, batch.rows, firstRows[i]),
    );
    return createRecordBatch(schema, batch.rows, columns);
  });
  return streamOfBatches(schema, batches);
}

const NO_COLUMNS = new Schema([]);

function partsWithValues({ children }: { readonly children: readonly Data[] }): Parts {
  return new Map([...children.entries()].filter(([, child]) => child.nullCount < child.length));
}

/** Returns the column that the values of a union fit in. */
function resolvedField(union: Field, place: number, kept: readonly Kept[]): Field {
  const used = new Set(kept.flatMap(({ columns }) => [...(columns[place]?.keys() ?? [])]));
  const types = childrenOf(union).filter((_, i) => used.has(i));
  const { name, metadata } = union;
  // As text: a text column with only nulls converts to any type.
  if (types.length === 0) return new Field(name, new Utf8(), true, metadata);
  const common = types.length === 1 ? types[0] : commonField(types);
  if (common !== undefined) return common.clone({ name, nullable: true });
  const names = types.map((type) => columnInfo(type).type);
  throw new ServiceError(
    'invalid_data',
    `The union ${quoted(name)} has values of several types (${names.join(', ')}), and no type holds all of them unchanged.`,
    { hint: HINT },
  );
}

const HINT = 'Bind values of one type, or run the statement once for the values of each type.';

/** Returns a column of a batch, of the type that was found for it. */
function columnOf(sent: Field, to: Field, parts: Parts, rows: number, firstRow: number): Data {
  const type = typeOf(to);
  const [only] = parts.values();
  if (only === undefined) return dataFrom(type, nullColumn(type, rows, allocate), new Map());
  if (!isUnion(sent)) return only;
  const refuse = (row: number, value: number | bigint): ServiceError =>
    new ServiceError(
      'invalid_data',
      `Row ${firstRow + row + 1} of the union ${quoted(to.name)}: ${value} is not exactly a ${columnInfo(to).type}, the type of all its values together.`,
      { hint: HINT },
    );
  const children = childrenOf(sent);
  const isDirect = children.some((child, i) => typeOf(child) === type && parts.has(i));
  if (parts.size === 1 && isDirect) return only;
  const converted = [...parts].map(([i, part]) => convertExactly(part, children[i], to, refuse));
  return converted.length === 1 ? converted[0] : firstValues(type, converted);
}

function tooLarge(): ServiceError {
  return new ServiceError('payload_too_large', `The rows with unions take more than ${MAX_BYTES} bytes.`, {
    hint: 'Send fewer rows at a time, or bind columns of one type.',
  });
}
