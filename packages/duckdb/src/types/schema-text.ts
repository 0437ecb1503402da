import { schemaFromUpload } from '@svc/frames';
import { Message, type Schema } from 'apache-arrow';

/** What the key-value metadata of a Parquet file of ours holds. */
export const METADATA_KEYS = {
  /** The schema of the frame: an Arrow schema message in base64. */
  schema: 'svc:schema',
  rows: 'svc:rows',
  /** The bytes the rows take as Arrow. */
  arrowBytes: 'svc:arrow_bytes',
} as const;

/** A schema as text. */
export function schemaText(schema: Schema): string {
  return Buffer.from(Message.encode(Message.from(schema))).toString('base64');
}

/** The schema in a text, which may come from anybody; throws where it is none. */
export function schemaFromText(text: string): Schema {
  return schemaFromUpload(Buffer.from(text, 'base64'));
}
