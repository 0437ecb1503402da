import { encodeArrowSchema, schemaFromUpload } from '@svc/frames/internal';
import type { Schema } from 'apache-arrow';

/** The key-value metadata of a Parquet file written by this store. */
export const METADATA_KEYS = {
  /** The schema of the frame: a base64-encoded Arrow schema message. */
  schema: 'svc:schema',
  rows: 'svc:rows',
  /** The size of the rows as Arrow, in bytes. */
  arrowBytes: 'svc:arrow_bytes',
} as const;

/** Encodes a schema as text. */
export function schemaText(schema: Schema): string {
  const { buffer, byteOffset, byteLength } = encodeArrowSchema(schema).header;
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

/** Parses the text of a schema. The text is untrusted; throws if it is invalid. */
export function schemaFromText(text: string): Schema {
  return schemaFromUpload(Buffer.from(text, 'base64'));
}
