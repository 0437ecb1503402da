import { type AppendOptions, type FrameInfo, type FrameRef, type PutResult, type PutSource } from '@svc/frames';
import { createYield } from '@svc/frames/async';
import { checkSchema, matchColumns, withMissingColumns } from '@svc/frames/columns';
import { checkPutConditions, expiryOf, type WriteReservation } from '@svc/frames/store';
import type { Schema } from 'apache-arrow';
import { timeOfVersion } from '../catalogue/frame-versions.ts';
import { ChangedByOthers } from '../catalogue/frame-slots.ts';
import { contentsOfParts, infoOf, type NextPart, partsOf, type StoredFrame } from '../catalogue/stored-frame.ts';
import type { TenantFolder } from '../catalogue/tenant-folder.ts';
import { checkConditions, publishNew, receiving, reserveWrite } from '../put-frame.ts';
import { type ReceivedRows, withReceived } from '../receive-upload.ts';
import type { StoreParts } from '../store-parts.ts';
import {
  type AddedFile,
  type AddedRows,
  addedRows,
  canShareFile,
  conformed,
  conformRows,
  isStoredForm,
  matchSent,
  rowsOf,
  stageTogether,
} from './added-rows.ts';

/** Appends rows to a frame, or creates one. */
export type AppendRows = (ref: FrameRef, source: PutSource, options: AppendOptions) => Promise<PutResult>;

/** An append with its rows. */
interface Append {
  /** As the client spells it: handles are compared ignoring case. */
  readonly ref: FrameRef;
  /** They are converted to the columns that the frame has when it is their turn. */
  readonly rows: { added: AddedRows };
  readonly options: AppendOptions;
  readonly reservation: WriteReservation;
  readonly resolve: (result: PutResult) => void;
  readonly reject: (error: unknown) => void;
  /** Set once it has an outcome: the others run again if another process was faster. */
  isDone?: true;
}

/** Creates the appends of a store. Waiting appends to one handle become durable together. */
export function createAppends(parts: StoreParts): AppendRows {
  const waiting = new Map<string, Append[]>();

  function publish(append: Append): void {
    const { ref } = append;
    const key = `${ref.tenant}\0${ref.handle.toLowerCase()}`;
    const others = waiting.get(key);
    if (others) return void others.push(append);
    const appends = [append];
    waiting.set(key, appends);
    // Later appends wait for the next turn.
    const close = (): void => void (waiting.get(key) === appends && waiting.delete(key));
    const work = parts.catalogue.change(ref, () => {
      close();
      return publishAppends(parts, ref, appends);
    });
    work.catch((error: unknown) => {
      close();
      for (const { reject } of appends) reject(error);
    });
  }

  return async (ref, source, options) => {
    const before = await checkConditions(parts, ref, options);
    const schema = before && (await parts.reader.describe(before)).schema;
    const reservation = await reserveWrite(parts, ref, 'append', options);
    try {
      const received = { ...receiving(parts, ref, options), addedTo: schema, reservation };
      return await withReceived(source, received, async (uploaded) => {
        // With thousands of columns, each of these steps takes milliseconds.
        const pause = createYield();
        await pause();
        const sent = rowsToAppend(uploaded, schema, options);
        await pause();
        const folder = parts.catalogue.folderOf(ref.tenant);
        const rows = { added: await addedRows(parts, folder, sent, options, reservation) };
        try {
          // Here, and not where other changes of the handle wait.
          if (schema) rows.added = await conformRows(parts, folder, schema, rows.added, options);
          await parts.merger.room(ref);
          return await new Promise((resolve, reject) => {
            publish({ ref, rows, options, reservation, resolve, reject });
          });
        } catch (error) {
          if (rows.added.kind === 'file') await folder.discard(rows.added.path).catch(() => {});
          throw error;
        }
      });
    } finally {
      reservation.close();
    }
  };
}

/** Converts rows to the columns of a frame, if it is possible before they are written. */
function rowsToAppend(rows: ReceivedRows, schema: Schema | undefined, options: AppendOptions): ReceivedRows {
  if ('kind' in rows) return rows.kind === 'csv' && schema ? { ...rows, addedTo: schema } : rows;
  checkSchema(rows.schema);
  if (schema === undefined) return rows;
  const added = options.missingAsNull === true ? withMissingColumns(schema, rows) : rows;
  // Refuses a mismatch before any row is read.
  const match = matchSent(schema, added.schema);
  return !match.isPlain && isStoredForm(added.schema) ? conformed(added, match) : added;
}

/** An append with fulfilled conditions, and the version it would have if it were published alone. */
interface Accepted {
  readonly append: Append;
  readonly added: AddedRows;
  readonly version: string;
}

/** A file with the rows of some appends. */
interface AppendedFile {
  readonly file: AddedFile;
  readonly appends: readonly Accepted[];
}

/** Publishes appends to a handle, in order, as one version. A failed one does not affect the others. */
async function publishAppends(parts: StoreParts, ref: FrameRef, appends: readonly Append[]): Promise<void> {
  const { catalogue, reader } = parts;
  const accepted: Accepted[] = [];
  let frame: StoredFrame | undefined;
  for (const append of appends) {
    const { options, isDone } = append;
    if (isDone) continue;
    try {
      if (frame === undefined) frame = await checkConditions(parts, append.ref, options);
      else {
        options.signal?.throwIfAborted();
        const version = accepted.at(-1)?.version ?? frame.version;
        checkPutConditions(append.ref, { handle: frame.handle, version }, options);
      }
      if (frame === undefined) {
        await create(parts, append);
        continue;
      }
      const { schema } = await reader.describe(frame);
      const folder = catalogue.folderOf(frame.tenant);
      const added = await conformRows(parts, folder, schema, append.rows.added, options);
      append.rows.added = added;
      accepted.push({ append, added, version: catalogue.nextVersion(frame) });
    } catch (error) {
      if (error instanceof ChangedByOthers) throw error;
      refuse(append, error);
    }
  }
  if (frame !== undefined) await publishAccepted(parts, ref, frame, accepted);
}

function refuse(append: Append, error: unknown): void {
  append.isDone = true;
  append.reject(error);
}

async function create(parts: StoreParts, append: Append): Promise<void> {
  const { ref, rows, options, reservation, resolve } = append;
  const file = await stageTogether(parts, parts.catalogue.folderOf(ref.tenant), [rows.added], options);
  rows.added = file;
  reservation.resize(file.written.fileBytes);
  const expires = expiryOf(parts.now(), options.ttlSeconds ?? null);
  const { info } = await publishNew(parts, ref, file, { expires, onCurrent: () => reservation.close() });
  append.isDone = true;
  resolve({ info, created: true });
}

/** Writes the rows in memory, and publishes all. */
async function publishAccepted(
  parts: StoreParts,
  ref: FrameRef,
  frame: StoredFrame,
  accepted: readonly Accepted[],
): Promise<void> {
  const { catalogue, checkLock, merger, now } = parts;
  const folder = catalogue.folderOf(ref.tenant);
  const groups = await reserveFiles(parts, folder, await stageAll(parts, folder, accepted));
  let contents = await parts.reader.describe(frame);
  // The new version: the current one with the appends so far. Others may share the last part.
  let { version, expires } = frame;
  let { rows } = contents;
  let listed: readonly NextPart[] = partsOf(frame);
  const results: { readonly append: Append; readonly info: FrameInfo; readonly rowsWritten: number }[] = [];
  for (const { file, appends } of groups) {
    const { path, written } = file;
    const next = [...listed, { from: path, size: written }];
    contents = contentsOfParts(widened(contents.schema, written.schema), next);
    listed = next;
    for (const { append, added, version: own } of appends) {
      const { ttlSeconds } = append.options;
      if (ttlSeconds !== undefined) expires = expiryOf(now(), ttlSeconds);
      version = own;
      rows += rowsOf(added);
      const name = { handle: frame.handle, version, expires, created: timeOfVersion(version) };
      results.push({ append, info: infoOf(name, { ...contents, rows }, false), rowsWritten: rowsOf(added) });
    }
  }
  if (results.length === 0) return;
  try {
    await checkLock();
    const onCurrent = (): void => accepted.forEach(({ append }) => append.reservation.close());
    merger.consider(await catalogue.publish(frame, { version, expires, parts: listed, contents, onCurrent }));
    for (const { append, info, rowsWritten } of results) append.resolve({ info, created: false, rowsWritten });
  } catch (error) {
    const isChanged = error instanceof ChangedByOthers;
    // Rows in memory are written again.
    const isLeft = ({ file }: AppendedFile): boolean => !isChanged || accepted.every(({ added }) => added !== file);
    await Promise.allSettled(groups.filter(isLeft).map(({ file }) => folder.discard(file.path)));
    if (isChanged) throw error;
    for (const { append } of results) append.reject(error);
  }
}

/** Reserves the bytes of files with appended rows. If one does not fit, its appends are written alone, and some may fit. */
async function reserveFiles(
  parts: StoreParts,
  folder: TenantFolder,
  files: readonly AppendedFile[],
): Promise<readonly AppendedFile[]> {
  const reserved: AppendedFile[] = [];
  for (const { file, appends } of files) {
    const [first, ...others] = appends;
    try {
      first?.append.reservation.resize(file.written.fileBytes);
      reserved.push({ file, appends });
    } catch (error) {
      await folder.discard(file.path).catch(() => {});
      if (first && others.length === 0) refuse(first.append, error);
      // One at a time: each must count before the next is checked.
      else
        for (const one of appends)
          reserved.push(...(await reserveFiles(parts, folder, await stageAll(parts, folder, [one]))));
    }
  }
  return reserved;
}

/** Returns the schema of a frame with columns nullable if they are in the appended rows. */
function widened(schema: Schema, added: Schema): Schema {
  const isWider = schema.fields.some(({ nullable }, i) => !nullable && added.fields[i]?.nullable === true);
  return isWider ? matchColumns(schema, added).schema : schema;
}

/** Writes the rows of appends to files, in order: adjacent ones in memory with the same schema to one file. */
async function stageAll(
  parts: StoreParts,
  folder: TenantFolder,
  accepted: readonly Accepted[],
): Promise<readonly AppendedFile[]> {
  const groups: Accepted[][] = [];
  for (const one of accepted) {
    const last = groups.at(-1);
    if (last?.[0] && canShareFile(last[0].added, one.added)) last.push(one);
    else groups.push([one]);
  }
  const staged: AppendedFile[] = [];
  for (const appends of groups) {
    const [first] = appends;
    try {
      const { signal, ...context } = first?.append.options ?? {};
      // A leaving client must not cancel the appends of others.
      const options = appends.length === 1 ? { ...context, signal } : context;
      const added = appends.map((one) => one.added);
      staged.push({ file: await stageTogether(parts, folder, added, options), appends });
    } catch (error) {
      if (first && appends.length === 1) refuse(first.append, error);
      // A value of one append may be at fault: write each alone.
      else for (const one of appends) staged.push(...(await stageAll(parts, folder, [one])));
    }
  }
  return staged;
}
