import { ServiceError } from '@svc/errors';
import type { Data, DataType } from 'apache-arrow';
import { type ColumnData, isNullAt } from '../../columns/column-data.ts';
import { joinColumns } from '../../columns/join-columns.ts';
import { dataFrom } from '../../columns/record-batch.ts';
import { allocate } from '../limits.ts';

/** Returns a column with the value of each row that is not null in one of several columns of a type, which have no dictionaries. */
export function firstValues(type: DataType, columns: readonly Data[]): Data {
  const [first, ...others] = columns.map(columnOf);
  const spans: { column: ColumnData; start: number; length: number }[] = [];
  for (let row = 0; row < first.length; row++) {
    const column = isNullAt(first, row) ? (others.find((other) => !isNullAt(other, row)) ?? first) : first;
    const last = spans.at(-1);
    if (last?.column === column) last.length++;
    else spans.push({ column, start: row, length: 1 });
  }
  const joined = joinColumns(type, spans, {
    allocate,
    tooLarge: (what) => new ServiceError('invalid_data', `The values of a union are too large: ${what}.`),
  });
  return dataFrom(type, joined, new Map());
}

/** Returns the buffers of a column. */
function columnOf(data: BufferedData): ColumnData {
  const { length, nullCount, nullBitmap, valueOffsets, values, variadicBuffers, children } = data;
  return {
    length,
    nullCount,
    ...(nullCount > 0 && { validity: new Uint8Array(nullBitmap) }),
    ...(valueOffsets && { offsets: valueOffsets }),
    ...(values && { values }),
    parts: variadicBuffers.map((part) => new Uint8Array(part)),
    children: children.map(columnOf),
  };
}

/** The buffers of a column, which apache-arrow declares as `any`. */
interface BufferedData {
  readonly length: number;
  readonly nullCount: number;
  readonly nullBitmap: Uint8Array;
  readonly valueOffsets: ColumnData['offsets'];
  readonly values: ColumnData['values'];
  readonly variadicBuffers: readonly Uint8Array[];
  readonly children: readonly BufferedData[];
}
