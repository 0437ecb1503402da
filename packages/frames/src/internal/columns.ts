/**
 * Types, columns and record batches of apache-arrow.
 *
 * ```ts
 * import { childrenOf, typeOf } from '@svc/frames/columns';
 * import { Field, Int64 } from 'apache-arrow';
 *
 * const field = new Field('id', new Int64());
 * typeOf(field); // without `any`
 * childrenOf(field); // []
 * ```
 */
export { TYPE_METADATA_KEY } from '@svc/arrow';
export {
  checkNames,
  checkSchema,
  childrenOf,
  declaredField,
  keyAndValueOf,
  typeOf,
  valueTypeOf,
} from '../column-types.ts';
export {
  arrayTypeOf,
  chunksOf,
  createFrameBytes,
  createRecordBatch,
  offsetsOf,
  schemaBytes,
  valueBytes,
  valuesOf,
} from '../columns/record-batch.ts';
export { type ColumnMatch, matchColumns, underSchema, withMissingColumns } from '../columns/match-columns.ts';
export { selectColumns, type SelectedColumns, sliceBatches, sliceStream } from '../columns/slice-batches.ts';
export { MAX_COLUMNS } from '../decode/limits.ts';
