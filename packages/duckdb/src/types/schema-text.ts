import { schemaFromUpload } from '@svc/frames/internal';
import { Message, type Schema } from 'apache-arrow';

/** The key-value metadata of a Parquet file written by this store. */
export const METADATA_KEYS = {
  /** The schema of the frame: a base64-encoded Arrow schema message. */
  schema: 'svc:schema',
  rows: 'svc:rows',
  /** The size of the rows as Arrow, in bytes. */
  arrowBytes: 'svc:arrow_bytes',
} as const;

/** A put needs the text of a schema several times, and thousands of columns take 20 ms each time. */
const texts = new WeakMap<Schema, string>();

/** Encodes a schema as text. */
export function schemaText(schema: Schema): string {
  const known = texts.get(schema);
  if (known !== undefined) return known;
  const text = Buffer.from(Message.encode(Message.from(schema))).toString('base64');
  texts.set(schema, text);
  return text;
}

/** Parses the text of a schema. The text is untrusted; throws if it is invalid. */
export function schemaFromText(text: string): Schema {
  return schemaFromUpload(Buffer.from(text, 'base64'));
}
