import { ServiceError } from '@svc/errors';
import type { FrameStream } from '@svc/frames';
import { createRecordBatch } from '@svc/frames/internal';
import { type Data, type Field, Schema } from 'apache-arrow';

/** Returns bound rows with the columns that placeholders name, by their index, in that order. */
export function placedRows(rows: FrameStream, placeholders: readonly number[]): FrameStream {
  const { fields } = rows.schema;
  const schema = new Schema(placeholders.map((index, i) => fieldAt(fields, index).clone({ name: `${i}` })));
  async function* batches(): FrameStream['batches'] {
    for await (const batch of rows.batches) {
      const columns: readonly Data[] = batch.data.children;
      const placed = placeholders.flatMap((index) => columns[index] ?? []);
      yield createRecordBatch(schema, batch.numRows, placed);
    }
  }
  return { schema, batches: batches() };
}

function fieldAt(fields: readonly Field[], index: number): Field {
  const field = fields[index];
  if (field !== undefined) return field;
  throw new ServiceError(
    'invalid_argument',
    `The statement has a parameter ${index + 1}, but ${fields.length} values were bound in each row.`,
    { hint: 'Bind a value to each parameter.' },
  );
}
