import type { AppendOptions, FrameInfo, FrameRef, PutResult } from '@svc/frames';
import { checkPutConditions, expiryOf, matchColumns, type WriteReservation } from '@svc/frames/internal';
import type { Schema } from 'apache-arrow';
import { schemaText } from '../types/schema-text.ts';
import { timeOfVersion } from './catalogue/frame-versions.ts';
import type { NextPart } from './catalogue/publish-version.ts';
import { contentsOfParts, type FrameContents, infoOf, sizedParts, type StoredFrame } from './catalogue/stored-frame.ts';
import type { TenantFolder } from './catalogue/tenant-folder.ts';
import {
  type AddedFile,
  type AddedRows,
  conformRows,
  contextOf,
  type FewRows,
  rowsOf,
  stageAdded,
  type StagingContext,
  streamOf,
} from './conform-rows.ts';
import type { ContentReader } from './frame-contents.ts';
import type { PartMerger } from './part-merger.ts';
import { checkConditions, type Publishing, publishNew } from './publish-frame.ts';
import { stageRows, type Staging } from './stage-rows.ts';

/** The parts of a store that publishing appends needs. */
export interface AppendParts extends Publishing, Staging {
  readonly reader: ContentReader;
  readonly merger: Pick<PartMerger, 'consider'>;
  readonly now: () => number;
}

/** The options of an append, and what it reserves. */
export interface ReservedAppend extends AppendOptions {
  readonly reservation: WriteReservation;
}

/** An append that waits. */
export interface WaitingAppend {
  /** As the client spells it: handles are compared ignoring case. */
  readonly ref: FrameRef;
  readonly added: AddedRows;
  readonly options: ReservedAppend;
  readonly resolve: (result: PutResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Publishes appends to a handle, in order, as one version. One that fails does not affect the others. Call this only
 * inside `change`.
 */
export async function publishAppends(
  parts: AppendParts,
  ref: FrameRef,
  appends: readonly WaitingAppend[],
): Promise<void> {
  const accepted: AcceptedAppend<WaitingAppend>[] = [];
  let frame: StoredFrame | undefined;
  for (const append of appends) {
    try {
      if (frame === undefined) frame = await checkConditions(parts, append.ref, append.options);
      else checkAgain(append, { handle: frame.handle, version: accepted.at(-1)?.version ?? frame.version });
      if (frame === undefined) await create(parts, append);
      else accepted.push(await accept(parts, frame, append));
    } catch (error) {
      append.reject(error);
    }
  }
  if (frame !== undefined) await publishAccepted(parts, ref, frame, accepted);
}

/** Each append has a version of its own, as if it were published alone. */
function checkAgain({ ref, options }: WaitingAppend, version: Pick<StoredFrame, 'handle' | 'version'>): void {
  options.signal?.throwIfAborted();
  checkPutConditions(ref, version, options);
}

async function create(parts: AppendParts, { ref, added, options, resolve }: WaitingAppend): Promise<void> {
  const folder = parts.catalogue.folderOf(ref.tenant);
  const file = await stageAdded(parts, folder, added, contextOf(options));
  try {
    const { reservation } = options;
    reservation.resize(file.written.fileBytes);
    const expires = expiryOf(parts.now(), options.ttlSeconds ?? null);
    const { info } = await publishNew(parts, ref, file, { expires, onCurrent: () => reservation.close() });
    resolve({ info, created: true });
  } catch (error) {
    await folder.discard(file.path).catch(() => {});
    throw error;
  }
}

async function accept(
  parts: AppendParts,
  frame: StoredFrame,
  append: WaitingAppend,
): Promise<AcceptedAppend<WaitingAppend>> {
  const { catalogue, reader } = parts;
  const { schema } = await reader.describe(frame);
  const folder = catalogue.folderOf(frame.tenant);
  const added = await conformRows(parts, folder, schema, append.added, contextOf(append.options));
  return { append, added, version: catalogue.nextVersion(frame) };
}

/** A version that is not published yet: the current one with the appends so far. */
interface Draft extends Pick<StoredFrame, 'handle' | 'version' | 'expires'> {
  readonly parts: readonly NextPart[];
  readonly contents: FrameContents;
  /** The rows of the appends so far: others may share the last part. */
  readonly rows: number;
}

/** Writes the rows that are still in memory, and publishes all. */
async function publishAccepted(
  parts: AppendParts,
  ref: FrameRef,
  frame: StoredFrame,
  accepted: readonly AcceptedAppend<WaitingAppend>[],
): Promise<void> {
  const { catalogue, checkLock, merger } = parts;
  const folder = catalogue.folderOf(ref.tenant);
  const groups = await reserveFiles(parts, folder, await stageTogether(parts, folder, accepted));
  const contents = await parts.reader.describe(frame);
  const { handle, version, expires } = frame;
  let draft: Draft = { handle, version, expires, parts: sizedParts(frame, contents), contents, rows: contents.rows };
  const results: { readonly append: WaitingAppend; readonly info: FrameInfo; readonly rowsWritten: number }[] = [];
  for (const { file, appends } of groups) {
    const { path, written } = file;
    const part = { unfinishedPath: path, version: appends.at(-1)?.version ?? '', size: written };
    const listed = [...draft.parts, part];
    const next = {
      parts: listed,
      contents: contentsOfParts(widened(draft.contents.schema, written.schema), listed),
    };
    for (const { append, added, version: own } of appends) {
      const { ttlSeconds } = append.options;
      const ends: Date | null = ttlSeconds === undefined ? draft.expires : expiryOf(parts.now(), ttlSeconds);
      draft = { handle, version: own, expires: ends, rows: draft.rows + rowsOf(added), ...next };
      results.push({ append, info: infoOfDraft(draft), rowsWritten: rowsOf(added) });
    }
  }
  if (results.length === 0) return;
  try {
    await checkLock();
    const onCurrent = (): void => accepted.forEach(({ append }) => append.options.reservation.close());
    merger.consider(await catalogue.publish(frame, { ...draft, onCurrent }));
    for (const { append, info, rowsWritten } of results) append.resolve({ info, created: false, rowsWritten });
  } catch (error) {
    await Promise.allSettled(groups.map(({ file }) => folder.discard(file.path)));
    for (const { append } of results) append.reject(error);
  }
}

/** Reserves the bytes of files with appended rows. If one does not fit, its appends are written alone, and some may fit. */
async function reserveFiles(
  parts: Staging,
  folder: TenantFolder,
  groups: readonly AppendedFile<WaitingAppend>[],
): Promise<readonly AppendedFile<WaitingAppend>[]> {
  const reserved: AppendedFile<WaitingAppend>[] = [];
  for (const group of groups) {
    const [first, ...others] = group.appends;
    try {
      first?.append.options.reservation.resize(group.file.written.fileBytes);
      reserved.push(group);
    } catch (error) {
      await folder.discard(group.file.path).catch(() => {});
      if (others.length === 0) first?.append.reject(error);
      // One at a time: each must count before the next is checked.
      else
        for (const one of group.appends)
          reserved.push(...(await reserveFiles(parts, folder, await stageTogether(parts, folder, [one]))));
    }
  }
  return reserved;
}

/** Returns the schema of a frame with columns nullable if they are in the appended rows. */
function widened(schema: Schema, added: Schema): Schema {
  const isWider = schema.fields.some(({ nullable }, i) => !nullable && added.fields[i]?.nullable === true);
  return isWider ? matchColumns(schema, added).schema : schema;
}

function infoOfDraft({ contents, rows, parts: _parts, ...name }: Draft): FrameInfo {
  return infoOf({ ...name, created: timeOfVersion(name.version) }, { ...contents, rows }, false);
}

/** An append that waits to be written. */
interface StagedAppend {
  readonly options: StagingContext;
  readonly reject: (error: unknown) => void;
}

/** An append whose conditions hold. */
interface AcceptedAppend<Append> {
  readonly append: Append;
  readonly added: AddedRows;
  readonly version: string;
}

/** A file with the rows of some appends. */
interface AppendedFile<Append> {
  readonly file: AddedFile;
  readonly appends: readonly AcceptedAppend<Append>[];
}

/** Writes the rows of appends to files, in order: adjacent ones in memory with the same schema to one file. */
async function stageTogether<Append extends StagedAppend>(
  staging: Staging,
  folder: TenantFolder,
  accepted: readonly AcceptedAppend<Append>[],
): Promise<readonly AppendedFile<Append>[]> {
  const staged: AppendedFile<Append>[] = [];
  for (const group of groupsOf(accepted)) {
    try {
      staged.push({ file: await stageGroup(staging, folder, group), appends: group });
    } catch (error) {
      if (group.length === 1) group[0]?.append.reject(error);
      // One append may have a value that cannot be stored: write each alone.
      else for (const one of group) staged.push(...(await stageTogether(staging, folder, [one])));
    }
  }
  return staged;
}

function groupsOf<Append>(accepted: readonly AcceptedAppend<Append>[]): AcceptedAppend<Append>[][] {
  const groups: AcceptedAppend<Append>[][] = [];
  let last: AddedRows | undefined;
  for (const one of accepted) {
    if (last !== undefined && canShareFile(last, one.added)) groups.at(-1)?.push(one);
    else groups.push([one]);
    last = one.added;
  }
  return groups;
}

function canShareFile(a: AddedRows, b: AddedRows): boolean {
  if (a.kind !== 'few' || b.kind !== 'few') return false;
  return a.schema === b.schema || schemaText(a.schema) === schemaText(b.schema);
}

async function stageGroup<Append extends StagedAppend>(
  staging: Staging,
  folder: TenantFolder,
  group: readonly AcceptedAppend<Append>[],
): Promise<AddedFile> {
  const few: FewRows[] = [];
  for (const { added } of group) {
    if (added.kind === 'file') return added;
    few.push(added);
  }
  const [first] = few;
  const [{ append } = {}, ...others] = group;
  if (first === undefined || append === undefined) throw new Error('There are no rows to write.');
  const { signal, ...context } = contextOf(append.options);
  // A client that leaves must not cancel the appends of others.
  const options = others.length === 0 && signal ? { ...context, signal } : context;
  return { kind: 'file', ...(await stageRows(staging, folder, streamOf(few, first.schema), options)) };
}
