import { columnInfo, type FrameRef, type PutOptions, type PutResult, type PutSource } from '@svc/frames';
import { createYield, expiryOf } from '@svc/frames/internal';
import type { Schema } from 'apache-arrow';
import type { Filling } from './memory/hot-tier.ts';
import { type ReceivedRows, type Receiving, withReceived } from './receive-upload.ts';
import { reserveWrite } from './reserve-write.ts';
import { type StagedRows, type StageOptions, stageRows } from './stage-rows.ts';
import { schemaText } from '../types/schema-text.ts';
import { checkConditions, publishNew } from './publish-frame.ts';
import type { StoreParts } from './store-parts.ts';
import type { StoredFrame } from './catalogue/stored-frame.ts';

/** Puts or replaces a frame. */
export async function putRows(
  parts: StoreParts,
  ref: FrameRef,
  source: PutSource,
  options: PutOptions,
): Promise<PutResult> {
  await checkConditions(parts, ref, options);
  const reservation = await reserveWrite(parts, ref, 'put', options);
  try {
    const received = { ...(await receiving(parts, ref, options)), reservation };
    return await withReceived(source, received, (rows) => putReceived(parts, ref, rows, { ...options, reservation }));
  } finally {
    reservation.close();
  }
}

/** Prepares the folder of a tenant for an upload. The folder exists if the frame does. */
export async function receiving(
  { catalogue, decoders }: StoreParts,
  ref: FrameRef,
  options: PutOptions,
  before?: StoredFrame,
): Promise<Receiving> {
  const folder = catalogue.folderOf(ref.tenant);
  if (before === undefined) await folder.prepare();
  return { decoders, folder, signal: options.signal, origin: options.origin };
}

async function putReceived(
  parts: StoreParts,
  ref: FrameRef,
  rows: ReceivedRows,
  options: PutOptions & Pick<StageOptions, 'reservation'>,
): Promise<PutResult> {
  const { catalogue, hot } = parts;
  const folder = catalogue.folderOf(ref.tenant);
  if (!('kind' in rows)) rows.schema.fields.forEach(columnInfo);
  const filling = 'kind' in rows ? undefined : hot.fillNew(rows.schema);
  let staged: StagedRows | undefined;
  try {
    staged = await stageRows(parts, folder, rows, { ...options, filling });
    const { path, written } = staged;
    await finishFilling(filling, rows, written.schema);
    return await catalogue.change(ref, async () => {
      options.signal?.throwIfAborted();
      // Check again under the lock of the handle: another put may have been faster.
      const replaced = await checkConditions(parts, ref, options);
      const expires = expiryOf(parts.now(), options.ttlSeconds ?? null);
      const { frame, info } = await publishNew(parts, ref, { path, written }, { expires });
      filling?.keep(frame);
      return { info: { ...info, tier: hot.has(frame) ? 'memory' : 'disk' }, created: replaced === undefined };
    });
  } catch (error) {
    if (staged) await folder.discard(staged.path).catch(() => {});
    throw error;
  } finally {
    filling?.cancel();
  }
}

/** A file stores normalised types: keep the rows in memory only if normalising changes nothing. */
async function finishFilling(
  filling: Filling<StoredFrame> | undefined,
  rows: ReceivedRows,
  written: Schema,
): Promise<void> {
  if (filling === undefined || 'kind' in rows) return filling?.cancel();
  const pause = createYield();
  const text = schemaText(rows.schema);
  await pause();
  if (text === schemaText(written)) await filling.finish();
  else filling.cancel();
}
