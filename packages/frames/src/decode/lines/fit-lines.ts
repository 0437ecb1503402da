import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { type Data, DataType, Field, type RecordBatch, Schema } from 'apache-arrow';
import { typeOf, valueTypeOf } from '../../arrow-types.ts';
import type { ByteBudget } from '../../byte-budget.ts';
import { columnInfo } from '../../column-types.ts';
import { convertColumn, isConvertible } from '../../columns/convert-column.ts';
import { createRecordBatch } from '../../columns/create-record-batch.ts';
import { isSameType } from '../../columns/match-columns.ts';
import { sliceData } from '../../columns/slice-data.ts';
import { type FrameStream, streamOfBatches } from '../../frame-stream.ts';
import type { LineColumn } from './line-column.ts';
import { LineError } from './line-error.ts';
import { type LineRows, plainRows, type TextForm, textRows } from './line-rows.ts';
import { type LineTable, typeConflict } from './line-table.ts';

/** The rows of a batch: a long append is checked, and sent to the store, in parts. */
const BATCH_ROWS = 65_536;

/** What `fitLines` needs. */
export interface FitOptions {
  /** Counts the bytes of the rows. */
  readonly budget: ByteBudget;
  /** Awaited after each part of the work, so that it does not block the event loop. */
  readonly pause: () => Promise<void> | undefined;
}

/**
 * Returns the lines of a table as rows. If they are appended to a frame they have its types, and the order of its columns: a
 * column that the frame lacks, or a value that would change, is a `LineError`. Columns that the lines lack are left out.
 */
export async function fitLines(
  table: LineTable,
  frame: Schema | undefined,
  { budget, pause }: FitOptions,
): Promise<FrameStream> {
  const starts = Array.from({ length: Math.ceil(table.rows / BATCH_ROWS) }, (_, i) => i * BATCH_ROWS);
  const batches: Data[][] = starts.map(() => []);
  const fields: Field[] = [];
  for (const column of frame === undefined ? ownColumns(table, budget) : columnsOf(table, frame, budget)) {
    fields.push(column.field);
    for (const [i, start] of starts.entries()) {
      batches[i]?.push(fittedRows(table, column, start, Math.min(BATCH_ROWS, table.rows - start)));
      await pause();
    }
  }
  const schema = new Schema(fields);
  return streamOfBatches(schema, batchesOf(schema, batches));
}

interface FittedColumn {
  readonly field: Field;
  readonly rows: LineRows;
  /** The column of the frame, if the rows must be converted to its type. */
  readonly target?: Field;
}

/** The columns of a new frame: those of the lines in the order of their first values, and the time. */
function* ownColumns(table: LineTable, budget: ByteBudget): Generator<FittedColumn, void, undefined> {
  for (const column of [...table.columns, table.time]) {
    // A frame has one type for both, which the lines do not tell.
    if (column.mixedLine !== undefined) {
      throw typeConflict(column, column.firstKind === 'DOUBLE' ? 'LONG' : 'DOUBLE', column.mixedLine);
    }
    const rows = rowsOf(column, table.rows, { form: column.kind === 'SYMBOL' ? 'symbol' : 'text', budget });
    yield { field: new Field(column.name, rows.type, true), rows };
  }
}

/** The columns of a frame that the lines have. */
function* columnsOf(table: LineTable, frame: Schema, budget: ByteBudget): Generator<FittedColumn, void, undefined> {
  const own = [...table.columns, table.time];
  const names = new Set(frame.fields.map(({ name }) => name));
  const extra = own.find(({ name }) => !names.has(name));
  if (extra !== undefined) {
    throw new LineError(
      extra.firstLine,
      `the frame ${quoted(table.handle)} has no column ${quoted(extra.name)}.`,
      `A frame keeps the columns of its first lines: ${listed(frame)}. Write other columns to another table, or replace the frame.`,
    );
  }
  const byName = new Map(own.map((column) => [column.name, column]));
  for (const target of frame.fields) {
    const column = byName.get(target.name);
    if (column !== undefined) yield fitted(table, column, target, budget);
    else if (!target.nullable) {
      throw new LineError(
        table.lines[0],
        `the column ${quoted(target.name)} of the frame ${quoted(table.handle)} cannot be null.`,
        'Send a value for it in each line.',
      );
    }
  }
}

function listed({ fields }: Schema): string {
  const shown = fields.slice(0, 20).map((field) => `${quoted(field.name)} ${columnInfo(field).type}`);
  return `${shown.join(', ')}${fields.length > shown.length ? ', …' : ''}`;
}

/** Returns a column in the type of the frame. */
function fitted(table: LineTable, column: LineColumn, target: Field, budget: ByteBudget): FittedColumn {
  const type = typeOf(target);
  const isText = column.kind === 'STRING' || column.kind === 'SYMBOL';
  const form = isText ? textFormOf(type) : undefined;
  const timezone = DataType.isTimestamp(type) ? (type.timezone ?? null) : null;
  if (isText && form === undefined) throw wrongType(table, column, target);
  const rows = rowsOf(column, table.rows, { form, timezone, budget });
  const from = new Field(target.name, rows.type, target.nullable || rows.nullCount > 0);
  if (isText || isSameType(target, from)) return { field: from, rows };
  if (!isConvertible(rows.type, type)) throw wrongType(table, column, target);
  return { field: new Field(target.name, type, from.nullable, target.metadata), rows, target };
}

function textFormOf(type: DataType): TextForm | undefined {
  if (DataType.isUtf8(type)) return 'text';
  if (DataType.isLargeUtf8(type)) return 'large text';
  return DataType.isDictionary(type) && DataType.isUtf8(valueTypeOf(type)) ? 'symbol' : undefined;
}

interface RowsOptions {
  /** The form of text; undefined for other values. */
  readonly form: TextForm | undefined;
  readonly timezone?: string | null;
  readonly budget: ByteBudget;
}

function rowsOf(column: LineColumn, rows: number, { form, timezone = null, budget }: RowsOptions): LineRows {
  const isText = column.kind === 'STRING' || column.kind === 'SYMBOL';
  return isText ? textRows(column, rows, form ?? 'text', budget) : plainRows(column, rows, timezone, budget);
}

/** Returns a range of rows in the type of the frame; the first value that would change tells the line. */
function fittedRows(table: LineTable, { rows, target }: FittedColumn, start: number, count: number): Data {
  const data = rows.slice(start, count);
  if (target === undefined) return data;
  try {
    return convertColumn(data, target);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    // Find the row: the first one whose rows up to it cannot be converted.
    let [low, high] = [0, count - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isConverted(sliceData(data, 0, middle + 1), target)) low = middle + 1;
      else high = middle;
    }
    const fits = `Send a value that a ${columnInfo(target).type} holds exactly.`;
    const hint = target.name === table.time.name ? `${fits} The parameter precision is the unit of times.` : fits;
    throw new LineError(table.lines[start + low], lowerFirst(error.message), hint);
  }
}

function isConverted(data: Data, target: Field): boolean {
  try {
    convertColumn(data, target);
    return true;
  } catch {
    return false;
  }
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}

function wrongType({ handle }: LineTable, { name, kind, firstLine }: LineColumn, target: Field): LineError {
  const { type } = columnInfo(target);
  return new LineError(
    firstLine,
    `column ${quoted(name)} is ${kind} here, but ${type} in the frame ${quoted(handle)}.`,
    `Send values that fit a ${type}, or write to another table.`,
  );
}

function* batchesOf(schema: Schema, batches: readonly Data[][]): Generator<RecordBatch, void, undefined> {
  for (const columns of batches) yield createRecordBatch(schema, columns[0]?.length ?? 0, columns);
}
