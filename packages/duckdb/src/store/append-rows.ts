import { type AppendOptions, columnInfo, type FrameRef, type PutResult, type PutSource } from '@svc/frames';
import { matchColumns, withMissingColumns } from '@svc/frames/internal';
import type { Schema } from 'apache-arrow';
import { type AddedRows, conformed, conformRows } from './conform-rows.ts';
import { checkConditions } from './publish-frame.ts';
import { type ReceivedRows, withReceived } from './receive-upload.ts';
import { stageRows } from './stage-rows.ts';
import type { StoreParts } from './store-parts.ts';
import { schemaText } from '../types/schema-text.ts';
import { storedSchema } from '../types/stored-types.ts';
import { receiving } from './write-frames.ts';

/** Appends rows to a frame, or creates one. */
export async function appendRows(
  parts: StoreParts,
  ref: FrameRef,
  source: PutSource,
  options: AppendOptions,
): Promise<PutResult> {
  const before = await checkConditions(parts, ref, options);
  const schema = before && (await parts.reader.describe(before)).schema;
  const folder = parts.catalogue.folderOf(ref.tenant);
  const received = await receiving(parts, ref, options);
  return withReceived(source, received, async (rows) => {
    const staged = await stageRows(parts, folder, rowsToAppend(rows, schema, options), options);
    let added: AddedRows = { ...staged, fits: undefined };
    try {
      // Here, and not where other changes of the handle wait.
      if (schema) added = await conformRows(parts, folder, schema, added, options);
      await parts.merger.room(ref);
      return await parts.appends.publish(ref, added, options);
    } catch (error) {
      await folder.discard(added.path).catch(() => {});
      throw error;
    }
  });
}

/** Returns rows with the columns of a frame, if that is possible before they are written. */
function rowsToAppend(rows: ReceivedRows, schema: Schema | undefined, options: AppendOptions): ReceivedRows {
  if ('kind' in rows) return rows.kind === 'csv' && schema ? { ...rows, addedTo: schema } : rows;
  const added = schema && options.missingAsNull === true ? withMissingColumns(schema, rows) : rows;
  added.schema.fields.forEach(columnInfo);
  if (schema === undefined) return added;
  const stored = storedSchema(added.schema).schema;
  // Refuses columns that do not match before any row is read.
  const match = matchColumns(schema, stored);
  const isStored = schemaText(stored) === schemaText(added.schema);
  return isStored && !match.isPlain ? conformed(added, match) : added;
}
