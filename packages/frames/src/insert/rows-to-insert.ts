import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { Schema } from 'apache-arrow';
import { underSchema } from '../columns/match-columns.ts';
import { withMissingColumns } from '../columns/missing-columns.ts';
import type { FrameStream } from '../frame-stream.ts';
import { fitRows } from './fit-rows.ts';

/**
 * Returns rows as a frame takes them in an append: each column is for one column of the frame, in order, whatever its name,
 * and has its type. `columns`: which columns; others are null. Default: all. Another number of columns, or a column that
 * the frame does not have, is `invalid_argument`; a value that would change is `invalid_data`.
 */
export function rowsToInsert(frame: Schema, rows: FrameStream, columns?: readonly string[]): FrameStream {
  const names = frame.fields.map(({ name }) => name);
  const targets = columns ?? names;
  const unfilled = new Set(names);
  for (const name of targets) {
    if (unfilled.delete(name)) continue;
    const isKnown = names.includes(name);
    throw wrongColumns(
      frame,
      isKnown ? `Column ${quoted(name)} is named twice.` : `The frame has no column ${quoted(name)}.`,
    );
  }
  const { fields, metadata } = rows.schema;
  if (fields.length !== targets.length) {
    throw wrongColumns(frame, `The rows have ${fields.length} values, but ${targets.length} columns are to be filled.`);
  }
  const schema = new Schema(
    fields.map((field, i) => field.clone({ name: targets[i] ?? field.name })),
    metadata,
  );
  return fitRows(frame, withMissingColumns(frame, { schema, batches: renamed(schema, rows) }));
}

async function* renamed(schema: Schema, { batches }: FrameStream): FrameStream['batches'] {
  for await (const batch of batches) yield underSchema(schema, batch);
}

function wrongColumns({ fields }: Schema, message: string): ServiceError {
  const names = fields.slice(0, 20).map(({ name }) => quoted(name));
  const more = fields.length > names.length ? ', …' : '';
  return new ServiceError('invalid_argument', message, {
    hint: `The columns of the frame are: ${names.join(', ')}${more}.`,
  });
}
