import type { FrameStream } from '@svc/frames';
import { type ColumnMatch, matchColumns } from '@svc/frames/internal';
import type { RecordBatch, Schema } from 'apache-arrow';
import type { TenantFolder } from './catalogue/tenant-folder.ts';
import { type StagedRows, stageRows, type Staging } from './stage-rows.ts';

/** Rows on disk that are appended to a frame. */
export interface AddedRows extends StagedRows {
  /** The schema whose files have columns of the same names and types, if one is known. */
  readonly fits: Schema | undefined;
}

/** Converts a stream to the columns of a frame. */
export function conformed(rows: FrameStream, match: ColumnMatch): FrameStream {
  async function* batches(): AsyncGenerator<RecordBatch> {
    for await (const batch of rows.batches) yield match.conform(batch);
  }
  return { schema: match.schema, batches: batches() };
}

/** Returns rows whose file has columns of the same names and types as a frame: these, or a converted copy. */
export async function conformRows(
  { files, compression }: Staging,
  folder: TenantFolder,
  schema: Schema,
  added: AddedRows,
  { signal }: { readonly signal?: AbortSignal },
): Promise<AddedRows> {
  if (added.fits === schema) return added;
  const match = matchColumns(schema, added.written.schema);
  if (match.isPlain) return { ...added, fits: schema };
  const reading = signal && { signal };
  const rows = files.read({ kind: 'parquet', path: added.path, isOwn: true }, added.written, { ...reading });
  const staged = await stageRows({ files, compression }, folder, conformed(rows, match), { ...reading });
  await folder.discard(added.path).catch(() => {});
  return { ...staged, fits: schema };
}
