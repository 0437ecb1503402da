import { randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { type Handle, isHandle, parseHandle } from '@svc/frames';
import type { PartSize } from '../../files/frame-files.ts';
import { schemaFromText } from '../../types/stored-types.ts';
import { timeOfVersion } from '../catalogue/frame-versions.ts';
import { deltaSchema, type DeltaStruct, hasLocalTimes } from './delta-schema.ts';
import type { EntryCodec, LogEntry } from './frame-log.ts';

/** All that a frame is, in one version. */
export interface FrameState {
  /** As the client spells it: handles are compared ignoring case. */
  readonly handle: Handle;
  readonly version: string;
  /** The name of the Delta table, a UUID. It stays when the frame is replaced. */
  readonly table: string;
  /** Undefined: the frame was dropped. */
  readonly rows: StoredRows | undefined;
  /** See `deltaColumns`. Not stored as such; default: taken from the schema. */
  readonly columns?: DeltaStruct | undefined;
  readonly expires: Date | null;
  /** The rows are those of the version before, in the same order: it was merged, or its expiry changed. */
  readonly isSame?: true;
  /** The frame gets another handle. It has moved if the log of that one has an entry with this move. */
  readonly moving?: FrameMove | undefined;
  /** The frame came from another handle, whose log may not say yet that it has left. */
  readonly from?: FrameMove | undefined;
  /** Why the entry cannot be read. Handle and version are what can be told of them; there are no rows. */
  readonly damage?: ServiceError | undefined;
}

/** A frame gets another handle. Both logs have it: the one that is left the new handle, the other the old one. */
export interface FrameMove {
  readonly handle: Handle;
  readonly id: string;
}

/** The rows of a frame. */
export interface StoredRows {
  /** See `schemaText`. */
  readonly schema: string;
  /** In order. */
  readonly parts: readonly StoredPart[];
}

/** A Parquet file in the folder of the frame: delta-rs and Polars find none elsewhere. */
export interface StoredPart {
  readonly file: string;
  readonly size: PartSize;
}

/** A later program that changes what entries mean increases this number: earlier ones must not guess. */
const FORMAT = 1;

/**
 * No other program knows the feature `svcFrames` of writers, so none of them writes: its rows would have no checksums, and its
 * commits would be lost.
 */
const PROTOCOL = { minReaderVersion: 1, minWriterVersion: 7, writerFeatures: ['svcFrames'] };

/** Fewer programs read this one. */
const LOCAL_TIMES_PROTOCOL = {
  minReaderVersion: 3,
  minWriterVersion: 7,
  readerFeatures: ['timestampNtz'],
  writerFeatures: ['timestampNtz', 'svcFrames'],
};

/**
 * Entries are commits of Delta Lake, so that other programs read the table: one action in each line. The first line has all
 * that this program needs; it reads no other.
 */
export const FRAME_CODEC: EntryCodec<FrameState> = {
  encode(entry, before) {
    // Once: with long names it has megabytes.
    const own = JSON.stringify(ownFields(entry));
    const [timestamp, operation] = [timeOf(entry.state), operationOf(entry.state, before)];
    const info = JSON.stringify({ timestamp, operation, svcCrc32: checksumOf(own) });
    const actions = deltaActions(entry.state, before).map((action) => JSON.stringify(action));
    return Buffer.from([`{"commitInfo":${info.slice(0, -1)},"svc":${own}}}`, ...actions, ''].join('\n'));
  },
  /** A damaged entry has a state, too: the frame can be put again or dropped. */
  decode(bytes) {
    const end = bytes.indexOf(NEWLINE);
    const line = Buffer.from(bytes.subarray(0, end < 0 ? undefined : end)).toString();
    try {
      return entryOf(ownFieldsIn(line));
    } catch (error) {
      if (error instanceof DamagedEntry) return { id: 'damaged', recent: [], state: damagedState(line, error) };
      throw error;
    }
  },
};

function damagedState(line: string, damage: ServiceError): FrameState {
  const handle = /"handle":"([^"]{1,128})"/.exec(line)?.[1] ?? '';
  const version = /"version":"([0-7][0-9A-HJKMNP-TV-Z]{25})"/.exec(line)?.[1] ?? '0'.repeat(26);
  const known = isHandle(handle) ? handle : UNKNOWN;
  return { handle: known, version, table: randomUUID(), rows: undefined, expires: null, damage };
}

/** Of a damaged entry. */
const UNKNOWN = parseHandle('unknown');

const NEWLINE = 10;

const timeOf = ({ version }: FrameState): number => timeOfVersion(version).getTime();

function operationOf(state: FrameState, before: FrameState | undefined): string {
  if (state.rows === undefined) return 'DELETE';
  if (state.isSame !== true) return 'WRITE';
  return filesOf(state).join() === filesOf(before).join() ? 'SET TBLPROPERTIES' : 'OPTIMIZE';
}

function filesOf(state: FrameState | undefined): readonly string[] {
  return state?.rows?.parts.map(({ file }) => file) ?? [];
}

/** What a commit changes: from nothing, all that the table is. Order in this list has no meaning for Delta. */
export function deltaActions(state: FrameState, before: FrameState | undefined): readonly object[] {
  const time = timeOf(state);
  const dataChange = state.isSame !== true || before === undefined;
  const [known, kept] = [new Set(filesOf(before)), new Set(filesOf(state))];
  return [
    ...tableActions(state, before),
    ...[...known]
      .filter((path) => !kept.has(path))
      .map((path) => ({ remove: { path, deletionTimestamp: time, dataChange } })),
    ...(state.rows?.parts ?? [])
      .filter(({ file }) => !known.has(file))
      .map(({ file: path, size: { rows, fileBytes: size } }) => ({
        add: {
          path,
          partitionValues: {},
          size,
          modificationTime: time,
          dataChange,
          stats: JSON.stringify({ numRecords: rows }),
        },
      })),
  ];
}

/** The columns, if they are others, and what programs must know to read them. Readers need both in the first entry. */
function tableActions(state: FrameState, before: FrameState | undefined): readonly object[] {
  const isSame = state.rows === undefined || state.rows.schema === before?.rows?.schema;
  if (before !== undefined && isSame) return [];
  const columns = columnsOf(state);
  const hasLocal = hasLocalTimes(columns);
  const protocol = hasLocal ? LOCAL_TIMES_PROTOCOL : PROTOCOL;
  // It is never lowered: readers of older versions of the table need what it says.
  return [...(before === undefined || hasLocal ? [{ protocol }] : []), metaData(state, columns)];
}

/** A dropped frame has no columns. */
function columnsOf({ rows, columns }: FrameState): DeltaStruct {
  if (rows === undefined) return { type: 'struct', fields: [] };
  return columns ?? deltaSchema(schemaFromText(rows.schema));
}

function metaData({ table, handle, version }: FrameState, columns: DeltaStruct): object {
  return {
    metaData: {
      id: table,
      name: handle,
      format: { provider: 'parquet', options: {} },
      schemaString: JSON.stringify(columns),
      partitionColumns: [],
      configuration: {},
      createdTime: timeOfVersion(version).getTime(),
    },
  };
}

/** What an entry is to this program, as JSON. */
function ownFields({ id, recent, state }: LogEntry<FrameState>): object {
  const { handle, version, table, rows, expires, isSame, moving, from } = state;
  return {
    format: FORMAT,
    id,
    recent,
    handle,
    version,
    table,
    expires,
    ...(isSame && { same: true }),
    ...(moving && { moving: { handle: moving.handle, id: moving.id } }),
    ...(from && { from: { handle: from.handle, id: from.id } }),
    ...(rows && { schema: rows.schema, parts: rows.parts.map(partFields) }),
  };
}

function partFields({ file, size: { rows, fileBytes, arrowBytes } }: StoredPart): object {
  return { file, rows, bytes: fileBytes, ...(arrowBytes !== undefined && { arrow_bytes: arrowBytes }) };
}

/** Encoding a decoded value again gives the same text. */
function checksumOf(own: string): string {
  return crc32(own).toString(16).padStart(8, '0');
}

type Fields = Readonly<Record<string, unknown>>;

function ownFieldsIn(line: string): Fields {
  const { commitInfo } = parse(line);
  const { svc, svcCrc32 } = isFields(commitInfo) ? commitInfo : {};
  if (!isFields(svc)) throw new ServiceError('invalid_data', 'The log of the frame was written by another program.');
  if (svc['format'] !== FORMAT) throw damaged('has a format that this version of the program does not know');
  if (checksumOf(JSON.stringify(svc)) !== svcCrc32) throw damaged('does not match its checksum');
  return svc;
}

function parse(line: string): Fields {
  try {
    const value: unknown = JSON.parse(line);
    if (isFields(value)) return value;
  } catch {
    // Reported below.
  }
  throw damaged('is not valid JSON');
}

function entryOf(own: Fields): LogEntry<FrameState> {
  const { id, recent, handle, version, table, same, schema, parts, moving, from } = own;
  const expires = expiryOf(own['expires']);
  const isRight =
    typeof id === 'string' &&
    Array.isArray(recent) &&
    recent.every((one) => typeof one === 'string') &&
    typeof handle === 'string' &&
    isHandle(handle) &&
    typeof version === 'string' &&
    typeof table === 'string' &&
    expires !== undefined;
  if (!isRight) throw damaged('lacks what every entry has');
  const rows = typeof schema === 'string' && Array.isArray(parts) ? { schema, parts: parts.map(partOf) } : undefined;
  const moves = {
    ...(moving !== undefined && { moving: moveOf(moving) }),
    ...(from !== undefined && { from: moveOf(from) }),
  };
  const state = { handle, version, table, rows, expires, ...(same === true && { isSame: true as const }), ...moves };
  return { id, recent, state };
}

function moveOf(move: unknown): FrameMove {
  const { handle, id } = isFields(move) ? move : {};
  if (typeof handle === 'string' && isHandle(handle) && typeof id === 'string') return { handle, id };
  throw damaged('names a move that is not valid');
}

function expiryOf(value: unknown): Date | null | undefined {
  if (value === null) return null;
  const expires = new Date(typeof value === 'string' ? value : Number.NaN);
  return Number.isNaN(expires.getTime()) ? undefined : expires;
}

/** A name in the folder, not a path out of it. */
const FILE = /^[A-Za-z0-9_@-][A-Za-z0-9._@-]*$/;

function partOf(part: unknown): StoredPart {
  if (!isFields(part)) throw damaged('lists something that is not a part');
  const { file, rows, bytes, arrow_bytes: arrowBytes } = part;
  if (typeof file !== 'string' || !FILE.test(file))
    throw damaged('lists a file that is not in the folder of the frame');
  if (!isSize(rows) || !isSize(bytes)) throw damaged('lists a part without a size');
  return { file, size: { rows, fileBytes: bytes, ...(isSize(arrowBytes) && { arrowBytes }) } };
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** The error for an entry in the log of another frame. */
export function entryOfOther(handle: string): ServiceError {
  return damaged(`is one of the frame ${quoted(handle)}`);
}

function damaged(how: string): DamagedEntry {
  return new DamagedEntry('invalid_data', `The newest entry in the log of the frame ${how}.`);
}

/** The bytes of an entry are not those that were written. */
class DamagedEntry extends ServiceError {}
