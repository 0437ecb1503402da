import { counted } from '@svc/errors/internal';
import { type DataType, type Field, type Union, UnionMode } from 'apache-arrow';
import { childrenOf, typeOf } from '../../arrow-types.ts';
import { type ColumnData, isNullAt } from '../../columns/column-data.ts';
import { type ColumnSpan, joinColumns } from '../../columns/join-columns.ts';
import { nullColumn } from '../../columns/null-column.ts';
import { type Loading, loadValidity, loadValues } from '../arrow/arrow-buffers.ts';
import { childrenByTypeId } from './union-schema.ts';

/** Where the value of each row is. */
interface Places {
  /** The index of the child; -1 if the row is null. */
  readonly children: Int16Array;
  /** The row of that child. */
  readonly rows: Int32Array;
}

/** Loads a union as the struct of `unionAsStruct`. */
export function loadUnion(
  field: Field<Union>,
  loading: Loading,
  loadColumn: (type: DataType, loading: Loading) => ColumnData,
): ColumnData {
  const { batch, fault } = loading;
  const [length, nullCount] = batch.nextNode();
  if (length !== batch.rows) throw fault(`it has ${counted(length, 'row')}, but the batch has ${batch.rows}`);
  // Until version V4 of the format, a union itself could be null.
  const nulls = batch.isV4 ? loadValidity(length, nullCount, loading) : {};
  const ids = loadValues(Int8Array, length, loading);
  const offsets = field.type.mode === UnionMode.Dense ? loadValues(Int32Array, length, loading) : undefined;
  const columns = childrenOf(field).map((child) => loadColumn(typeOf(child), loading));
  const places: Places = { children: new Int16Array(length).fill(-1), rows: new Int32Array(length) };
  const byId = childrenByTypeId(field);
  for (let row = 0; row < length; row++) {
    if (isNullAt(nulls, row)) continue;
    const child = byId.get(ids[row]);
    if (child === undefined) throw fault(`row ${row} has the type id ${ids[row]}, which the union does not have`);
    const place = offsets === undefined ? row : offsets[row];
    const count = columns[child].length;
    if (place < 0 || place >= count) {
      throw fault(`row ${row} is value ${place} of a type of the union that has ${counted(count, 'value')}`);
    }
    places.children[row] = child;
    places.rows[row] = place;
  }
  const children = columns.map((column, i) => spread(typeOf(childrenOf(field)[i]), column, i, places, loading));
  return { length, nullCount: 0, children };
}

/** Moves the values of a child to the rows of the union; the other rows are null. */
function spread(
  type: DataType,
  column: ColumnData,
  child: number,
  { children, rows }: Places,
  { batch, fault }: Loading,
): ColumnData {
  const allocate = (bytes: number): Uint8Array<ArrayBuffer> => batch.allocate(bytes);
  const { length } = rows;
  if (!children.includes(child)) return nullColumn(type, length, allocate);
  const nulls = nullColumn(type, children.every((other) => other === child) ? 0 : length, allocate);
  const spans: { column: ColumnData; start: number; length: number }[] = [];
  for (let row = 0; row < length; row++) {
    const from = children[row] === child ? column : nulls;
    const start = from === column ? rows[row] : 0;
    const last = spans.at(-1);
    if (last?.column === from && (from === nulls || last.start + last.length === start)) last.length++;
    else spans.push({ column: from, start, length: 1 });
  }
  return isWhole(spans, column) ? column : joinColumns(type, spans, { allocate, tooLarge: fault });
}

function isWhole(spans: readonly ColumnSpan[], column: ColumnData): boolean {
  const [first] = spans;
  return spans.length === 1 && first.column === column && first.start === 0 && first.length === column.length;
}
