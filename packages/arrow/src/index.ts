/**
 * The parts of the Arrow IPC format that servers and browsers share.
 *
 * ```ts
 * import { readFileSync } from 'node:fs';
 * import { PREFIX_BYTES, prefixOf, readFlatbuffer, SLOT } from '@svc/arrow';
 *
 * const stream = readFileSync('trades.arrows');
 * const prefix = prefixOf(stream);
 * if (prefix) {
 *   const message = readFlatbuffer(stream.subarray(PREFIX_BYTES, PREFIX_BYTES + prefix.length));
 *   message.table(SLOT.message.header)?.count(SLOT.schema.fields, 4); // the number of columns
 * }
 * ```
 */
export { DECODER, type FlatTable, readFlatbuffer } from './flatbuffer.ts';
export {
  BLOCK,
  EXTENSION_METADATA_KEY,
  MAX_METADATA_BYTES,
  MESSAGE_TYPE,
  type MessagePrefix,
  PREFIX_BYTES,
  prefixOf,
  SLOT,
  TYPE_METADATA_KEY,
  UUID_EXTENSION,
} from './format.ts';
export { type ArrowField, type ArrowType, type TypeName, typeName } from './type-names.ts';
