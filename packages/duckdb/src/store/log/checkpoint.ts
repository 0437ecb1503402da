import { existsSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { type FrameStream, streamFromTable } from '@svc/frames';
import { createYield } from '@svc/frames/async';
import { typeOf } from '@svc/frames/columns';
import { syncDirectory, writeWhole } from '@svc/objects/internal';
import {
  Bool,
  DataType,
  Field,
  Int32,
  Int64,
  List,
  Map_,
  Struct,
  Table,
  Utf8,
  type Vector,
  vectorFromArray,
} from 'apache-arrow';
import type { FrameFiles } from '../../files/frame-files.ts';
import { schemaFromText } from '../../types/stored-types.ts';
import { LAST_CHECKPOINT, LOG_FOLDER, namesIn } from '../catalogue/frame-folders.ts';
import { logOf, type Slot } from '../catalogue/frame-slots.ts';
import type { StoredFrame } from '../catalogue/stored-frame.ts';
import type { StoreProblem } from '../catalogue/store-problem.ts';
import { deltaColumns } from './delta-schema.ts';
import { deltaActions, type FrameState } from './frame-entry.ts';
import { entryName, type NumberedEntry } from './frame-log.ts';

/** A log gets a checkpoint each time it has this many more entries. At least as many entries stay. */
const CHECKPOINT_EVERY = 32;

/** Options of `trimLog`. */
export interface TrimOptions {
  readonly files: Pick<FrameFiles, 'write'>;
  readonly onProblem: (problem: StoreProblem) => void;
  /** Runs work while nothing else changes the frame. Most of the time passes before: changes need not wait. */
  readonly inTurn: (work: () => Promise<void>) => Promise<void>;
}

/**
 * Writes a checkpoint of Delta Lake, and removes older entries. This program reads only the newest entry of a log. Others
 * replay all of them, from entry 0 or from a checkpoint: a Parquet file with all that the table is in one version. This program
 * never reads one.
 *
 * What is older than the checkpoint before the new one goes: a program that has just found that one can still read it. If the
 * checkpoint cannot be written, all entries stay. A file is complete when it gets its name, and a checkpoint follows from its
 * entry alone: several processes may write the same one and trim the log at once.
 */
export async function trimLog(slot: Slot, { files, onProblem, inTurn }: TrimOptions): Promise<void> {
  const { tenant, key, path } = slot;
  const report = (cause: unknown): false => {
    if (!slot.isReported) onProblem({ kind: 'no_checkpoint', tenant: tenant.name, handle: key, cause });
    slot.isReported = true;
    return false;
  };
  const checkpoint = await stageCheckpoint(slot, files).catch(report);
  if (!checkpoint) return;
  try {
    await inTurn(async () => {
      const newest = await placeCheckpoint(slot, checkpoint).catch(report);
      if (!newest) return;
      slot.isReported = false;
      const names = checkpointsIn(slot, newest);
      const start = names.at(-2);
      if (start === undefined) return;
      await logOf(slot).trim(CHECKPOINT_EVERY, Number.parseInt(start, 10));
      await tenant.objects.remove(names.slice(0, -2).map((name) => keyOf(path, name)));
    });
  } finally {
    await tenant.own.discard(checkpoint.path).catch(() => {});
  }
}

/** True if the log of a frame lacks a checkpoint of its newest entry. */
export function isCheckpointDue({ path, known }: Slot): boolean {
  const { number = 0 } = known?.seen ?? {};
  const has = (name: string): boolean => existsSync(join(path, LOG_FOLDER, name));
  if ((number + 1) % CHECKPOINT_EVERY === 0) return !has(checkpointName(number));
  // Other programs cannot open a log without a start: an earlier version of this program has removed entry 0, or a process
  // was killed while it removed the log of a dropped frame, which was put again.
  return !has(entryName(0)) && !has(LAST_CHECKPOINT);
}

const CHECKPOINT = /^[0-9]{20}\.checkpoint\.parquet$/;

/** The names of the checkpoints of a log, the oldest first. One beyond the newest entry is not ours. */
function checkpointsIn({ path }: Slot, newest: NumberedEntry<FrameState>): readonly string[] {
  return namesIn(join(path, LOG_FOLDER))
    .filter((name) => CHECKPOINT.test(name) && name <= checkpointName(newest.number))
    .toSorted();
}

const checkpointName = (number: number): string => entryName(number).replace('json', 'checkpoint.parquet');

const keyOf = (path: string, name: string): string => `${basename(path)}/${LOG_FOLDER}/${name}`;

interface StagedCheckpoint {
  readonly path: string;
  readonly entry: NumberedEntry<FrameState>;
  /** The number of actions. */
  readonly size: number;
}

/** Writes a checkpoint, without a name that other programs look for. Undefined: the frame has been dropped. */
async function stageCheckpoint(slot: Slot, files: TrimOptions['files']): Promise<StagedCheckpoint | undefined> {
  const entry = await logOf(slot).newest();
  if (entry?.state.rows === undefined) return undefined;
  const actions = await actionsOf(entry.state, slot.current);
  const path = await slot.tenant.own.newFile();
  await files.write(path, streamOf(actions), { compression: 'snappy' });
  return { path, entry, size: actions.length };
}

/** Returns the newest entry. Undefined: the log is another one by now, as the frame was dropped and put again. */
async function placeCheckpoint(
  slot: Slot,
  { path, entry, size }: StagedCheckpoint,
): Promise<NumberedEntry<FrameState> | undefined> {
  const newest = await logOf(slot).newest();
  if (newest === undefined || (newest.id !== entry.id && !newest.recent.includes(entry.id))) return undefined;
  const name = checkpointName(entry.number);
  await slot.tenant.objects.create(keyOf(slot.path, name), { path });
  // Another process may have written a later one.
  if (checkpointsIn(slot, newest).at(-1) !== name) return newest;
  const log = join(slot.path, LOG_FOLDER);
  const last = JSON.stringify({ version: entry.number, size });
  await writeWhole(log, LAST_CHECKPOINT, relative(log, await slot.tenant.own.newFile()), last);
  await syncDirectory(log);
  return newest;
}

/**
 * The actions that make a table from nothing. There are no `remove` actions: only VACUUM needs them, for files that stay after
 * they have left the table. The parts of a frame go at once, and no other program may remove one. The protocol is that of
 * this version. Earlier ones may need a higher one, but a program that reads those begins at an earlier checkpoint.
 */
async function actionsOf(state: FrameState, current: StoredFrame | undefined): Promise<readonly object[]> {
  // With many columns, each of these steps takes milliseconds. To decode the schema takes longest, and is seldom needed.
  const pause = createYield();
  await pause();
  const known = current?.version === state.version ? current.contents?.schema : undefined;
  const columns = await deltaColumns(known ?? schemaFromText(state.rows?.schema ?? ''));
  await pause();
  const actions = deltaActions({ ...state, columns }, undefined);
  await pause();
  return actions;
}

const text = new Utf8();
const long = new Int64();
const texts = new List(new Field('element', text, true));
const pair = new Struct<{ key: Utf8; value: Utf8 }>([new Field('key', text, false), new Field('value', text, true)]);
const properties = new Map_(new Field('entries', pair, false));
const structOf = (types: Readonly<Record<string, DataType>>): Struct =>
  new Struct(Object.entries(types).map(([name, type]) => new Field(name, type, true)));

/** The columns of a checkpoint. Each row has one action. Readers take those that are missing for null. */
const ACTIONS: Readonly<Record<string, DataType>> = {
  protocol: structOf({
    minReaderVersion: new Int32(),
    minWriterVersion: new Int32(),
    readerFeatures: texts,
    writerFeatures: texts,
  }),
  metaData: structOf({
    id: text,
    name: text,
    format: structOf({ provider: text, options: properties }),
    schemaString: text,
    partitionColumns: texts,
    configuration: properties,
    createdTime: long,
  }),
  add: structOf({
    path: text,
    partitionValues: properties,
    size: long,
    modificationTime: long,
    dataChange: new Bool(),
    stats: text,
  }),
};

function streamOf(actions: readonly object[]): FrameStream {
  const rows = actions.map((action) => new Map<string, unknown>(Object.entries(action)));
  const columns = Object.entries(ACTIONS).map(([name, type]): [string, Vector] => {
    const values = rows.map((row) => valueOf(type, row.get(name)));
    return [name, vectorFromArray(values, type)];
  });
  return streamFromTable(new Table(Object.fromEntries<Vector>(columns)));
}

/** Converts a value of JSON to what Arrow takes for a type. */
function valueOf(type: DataType, value: unknown): unknown {
  if (typeof value === 'number' && DataType.isInt(type) && type.bitWidth === 64) return BigInt(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value ?? null;
  const fields = new Map<string, unknown>(Object.entries(value));
  if (!DataType.isStruct(type)) return fields;
  return Object.fromEntries(type.children.map((field) => [field.name, valueOf(typeOf(field), fields.get(field.name))]));
}
