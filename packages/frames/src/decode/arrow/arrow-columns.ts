import { ServiceError } from '@svc/errors';
import { counted, quoted } from '@svc/errors/internal';
import { DataType, type Dictionary, type Field, type FixedSizeList, type Struct } from 'apache-arrow';
import { typeOf } from '../../arrow-types.ts';
import type { ArrowBatch } from './arrow-batch.ts';
import {
  checkOffsets,
  type ColumnHead,
  type Loading,
  loadOffsets,
  loadValidity,
  loadValues,
  loadViews,
} from './arrow-buffers.ts';
import { checkValues } from '../check-values.ts';
import { arrayTypeOf } from '../../columns/arrow-data.ts';
import { type ColumnData, elementsPerRow, isNullAt, isWide, type Values } from '../../columns/column-data.ts';
import { joinColumns, wholeColumn } from '../../columns/join-columns.ts';
import { loadUnion } from '../unions/load-union.ts';
import { isUnion, unionAsStruct } from '../unions/union-schema.ts';

/** The maximum rows of a batch, including nested ones. */
const MAX_BATCH_ROWS = 2 ** 31 - 1;

/**
 * Loads the columns of an Arrow batch. Later code indexes the buffers unchecked, so everything is checked here:
 * lengths, offsets, indices, null counts, dates. Unions become structs.
 */
export function loadColumns(
  batch: ArrowBatch,
  fields: readonly Field[],
  dictionary: Loading['dictionary'],
): ColumnData[] {
  if (batch.rows > MAX_BATCH_ROWS) {
    throw new ServiceError(
      'invalid_data',
      `The ${batch.name} has ${batch.rows} rows; the maximum is ${MAX_BATCH_ROWS}.`,
    );
  }
  const columns = fields.map((field) => {
    const fault = (what: string, hint?: string) =>
      new ServiceError('invalid_data', `Column ${quoted(field.name)} of ${batch.name}: ${what}.`, {
        ...(hint !== undefined && { hint }),
      });
    const loading = { batch, dictionary, fault };
    const column = isUnion(field) ? loadUnion(field, loading, loadColumn) : loadColumn(typeOf(field), loading);
    if (column.length !== batch.rows)
      throw fault(`it has ${counted(column.length, 'row')}, but the batch has ${batch.rows}`);
    checkValues(unionAsStruct(field), column, loading);
    return column;
  });
  batch.finish();
  return columns;
}

function loadColumn(type: DataType, loading: Loading): ColumnData {
  const { batch, fault } = loading;
  const [length, nullCount] = batch.nextNode();
  if (length > MAX_BATCH_ROWS) throw fault(`it has ${length} rows; the maximum is ${MAX_BATCH_ROWS}`);
  if (DataType.isNull(type)) return { length, nullCount: length };
  const head = { length, nullCount, ...loadValidity(length, nullCount, loading) };
  if (DataType.isUtf8View(type) || DataType.isBinaryView(type)) return { ...head, ...loadViews(head, loading) };
  if (DataType.isDictionary(type)) return { ...head, values: loadIndices(type, head, loading) };
  if (DataType.isStruct(type)) return { ...head, children: loadMembers(type, head, loading) };
  if (DataType.isFixedSizeList(type)) return { ...head, children: [loadFixedItems(type, head, loading)] };
  if (isList(type)) return { ...head, ...loadItems(type, head, loading) };
  if (hasBytesBehindOffsets(type)) {
    const offsets = loadOffsets(isWide(type), length, loading);
    const values = batch.nextBuffer();
    checkOffsets(offsets, values.length, fault);
    return { ...head, offsets, values: length === 0 ? new Uint8Array(0) : values };
  }
  if (DataType.isBool(type)) return { ...head, values: loadValues(Uint8Array, Math.ceil(length / 8), loading) };
  return { ...head, values: loadValues(arrayTypeOf(type), length, loading, elementsPerRow(type)) };
}

/** A map is a list of pairs; the schema does not allow null pairs or keys. */
function isList(type: DataType): boolean {
  return DataType.isList(type) || DataType.isLargeList(type) || DataType.isMap(type);
}

/** Whether a type is variable-length text or binary, with an offset for each row. */
export function hasBytesBehindOffsets(type: DataType): boolean {
  return DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isBinary(type) || DataType.isLargeBinary(type);
}

function loadIndices(type: Dictionary, head: ColumnHead, loading: Loading): Values {
  const indices = loadValues<Values>(type.indices.ArrayType, head.length, loading);
  const values = loading.dictionary(type.id)?.length ?? 0;
  for (let row = 0; row < head.length; row++) {
    const index = indices[row];
    if ((index < 0 || index >= values) && !isNullAt(head, row)) {
      throw loading.fault(`row ${row} is value ${index} of a dictionary that has ${counted(values, 'value')}`);
    }
  }
  return indices;
}

function loadMembers(type: Struct, head: ColumnHead, loading: Loading): ColumnData[] {
  const children = type.children.map((child) => loadColumn(typeOf(child), loading));
  if (children.some((child) => child.length !== head.length)) {
    throw loading.fault('its fields have different numbers of rows');
  }
  return children;
}

function loadFixedItems(type: FixedSizeList, head: ColumnHead, loading: Loading): ColumnData {
  const child = loadColumn(typeOf(type.children[0]), loading);
  const needed = head.length * type.listSize;
  if (child.length < needed)
    throw loading.fault(`its lists need ${counted(needed, 'value')}, but there are ${child.length}`);
  return child;
}

type ListParts = Required<Pick<ColumnData, 'offsets' | 'children'>>;

function loadItems(type: DataType, head: ColumnHead, loading: Loading): ListParts {
  const offsets = loadOffsets(isWide(type), head.length, loading);
  const [item] = type.children;
  const child = loadColumn(typeOf(item), loading);
  checkOffsets(offsets, child.length, loading.fault);
  const parts = { offsets, children: [child] };
  if (Number(offsets[0]) === 0) return parts;
  // Rebase the items to 0, so that later code need not handle another start.
  const { offsets: rebased = offsets, children = [] } = joinColumns(type, [wholeColumn({ ...head, ...parts })], {
    allocate: (bytes) => loading.batch.allocate(bytes),
    tooLarge: loading.fault,
  });
  return { offsets: rebased, children };
}
