import type { AppendOptions, FrameInfo, FrameRef, PutResult } from '@svc/frames';
import { checkPutConditions, expiryOf, matchColumns } from '@svc/frames/internal';
import type { Schema } from 'apache-arrow';
import { type AddedRows, conformRows } from './conform-rows.ts';
import type { NextPart } from './catalogue/catalogue.ts';
import { timeOfVersion } from './catalogue/frame-versions.ts';
import { contentsOfParts, infoOf, sizedParts, type StoredFrame } from './catalogue/stored-frame.ts';
import type { ContentReader } from './frame-contents.ts';
import type { PartMerger } from './part-merger.ts';
import { checkConditions, publishNew, type Publishing } from './publish-frame.ts';
import type { Staging } from './stage-rows.ts';

/** The parts of a store that publishing appends needs. */
export interface AppendParts extends Publishing, Staging {
  readonly reader: ContentReader;
  readonly merger: Pick<PartMerger, 'consider'>;
  readonly now: () => number;
}

/** An append that waits. */
export interface WaitingAppend {
  /** As the client spells it: handles are compared ignoring case. */
  readonly ref: FrameRef;
  readonly added: AddedRows;
  readonly options: AppendOptions;
  readonly resolve: (result: PutResult) => void;
  readonly reject: (error: unknown) => void;
}

/** A version that is not published yet: the current one with the appends so far. */
interface Draft extends Pick<StoredFrame, 'handle' | 'version' | 'expires'> {
  readonly schema: Schema;
  readonly parts: readonly NextPart[];
}

/** An append with its result once the draft is published. */
interface DraftedAppend {
  readonly append: WaitingAppend;
  readonly info: FrameInfo;
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
  const drafted: DraftedAppend[] = [];
  let draft: Draft | undefined;
  for (const append of appends) {
    try {
      const before: Draft | undefined = draft ? checked(draft, append) : await draftOf(parts, append);
      if (before === undefined) {
        await create(parts, append);
      } else {
        draft = await extend(parts, before, append);
        drafted.push({ append, info: infoOfDraft(draft) });
      }
    } catch (error) {
      append.reject(error);
    }
  }
  if (draft !== undefined) await publishDraft(parts, ref, draft, drafted);
}

function checked(draft: Draft, { ref, options }: WaitingAppend): Draft {
  options.signal?.throwIfAborted();
  checkPutConditions(ref, draft, options);
  return draft;
}

/** Returns the frame that an append applies to, if any. Throws if the append is not allowed. */
async function draftOf(parts: AppendParts, { ref, options }: WaitingAppend): Promise<Draft | undefined> {
  const frame = await checkConditions(parts, ref, options);
  if (frame === undefined) return undefined;
  const { schema } = await parts.reader.describe(frame);
  const { handle, version, expires } = frame;
  return { handle, version, expires, schema, parts: sizedParts(frame) };
}

async function create(parts: AppendParts, { ref, added, options, resolve }: WaitingAppend): Promise<void> {
  const expires = expiryOf(parts.now(), options.ttlSeconds ?? null);
  const { info } = await publishNew(parts, ref, added, expires);
  resolve({ info, created: true });
}

/** Adds an append to a draft. Each append has a version of its own, as if it were published alone. */
async function extend(parts: AppendParts, draft: Draft, { ref, added, options }: WaitingAppend): Promise<Draft> {
  const { catalogue, now } = parts;
  const folder = catalogue.folderOf(ref.tenant);
  const { path, written } = await conformRows(parts, folder, draft.schema, added, options);
  const version = catalogue.nextVersion(ref);
  return {
    handle: draft.handle,
    version,
    expires: options.ttlSeconds === undefined ? draft.expires : expiryOf(now(), options.ttlSeconds),
    schema: widened(draft.schema, written.schema),
    parts: [...draft.parts, { unfinishedPath: path, version, size: written }],
  };
}

/** Returns the schema of a frame with columns nullable if they are in the appended rows. */
function widened(schema: Schema, added: Schema): Schema {
  const isWider = schema.fields.some(({ nullable }, i) => !nullable && added.fields[i]?.nullable === true);
  return isWider ? matchColumns(schema, added).schema : schema;
}

function infoOfDraft({ schema, parts, ...name }: Draft): FrameInfo {
  return infoOf({ ...name, created: timeOfVersion(name.version) }, contentsOfParts(schema, parts), false);
}

async function publishDraft(
  { catalogue, checkLock, merger }: AppendParts,
  ref: FrameRef,
  { version, schema, parts, expires }: Draft,
  drafted: readonly DraftedAppend[],
): Promise<void> {
  try {
    await checkLock();
    const frame = await catalogue.publish(ref, { version, parts, contents: contentsOfParts(schema, parts), expires });
    for (const { append, info } of drafted) append.resolve({ info, created: false });
    merger.consider(frame);
  } catch (error) {
    const folder = catalogue.folderOf(ref.tenant);
    const staged = parts.flatMap((part) => ('unfinishedPath' in part ? [part.unfinishedPath] : []));
    await Promise.allSettled(staged.map((path) => folder.discard(path)));
    for (const { append } of drafted) append.reject(error);
  }
}
