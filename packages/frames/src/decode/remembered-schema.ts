import type { Schema } from 'apache-arrow';
import { decodeSchema } from './arrow/arrow-schema.ts';

/** Longer messages are not remembered. */
const MAX_REMEMBERED_BYTES = 16 * 1024;
/** The schema that was decoded last. */
let last: { readonly message: Uint8Array; readonly schema: Schema } | undefined;

/**
 * Decodes a schema. A client that appends sends the same message again and again: it gets the same object, so that what
 * others remember of a schema is found.
 */
export function rememberedSchema(message: Uint8Array): Schema {
  if (last !== undefined && Buffer.compare(last.message, message) === 0) return last.schema;
  const schema = decodeSchema(message);
  if (message.length <= MAX_REMEMBERED_BYTES) last = { message: message.slice(), schema };
  return schema;
}
