import { basename, relative } from 'node:path';
import { cancelledError, ServiceError, toServiceError } from '@svc/errors';
import { orAborted, quoted } from '@svc/errors/internal';
import { type Call, columnInfo } from '@svc/frames';
import { createYield, type TimeLimit } from '@svc/frames/async';
import { childrenOf, keyAndValueOf, TYPE_METADATA_KEY, typeOf } from '@svc/frames/columns';
import { charactersBefore, sqlNames } from '@svc/frames/sql';
import { DataType, type Field, type Schema, TimeUnit } from 'apache-arrow';
import { ChildError } from '../child-link/child-errors.ts';
import type { DownloadOptions } from '../child-link/pending-request.ts';
import { isOfTheFile } from '../files/file-errors.ts';
import { unreadableParquet } from '../files/parquet/faults.ts';
import type { DescribedFrame, PinnedSource, SqlFrames } from '../store/sql-frames.ts';
import { unreadableFrame } from '../store/store-errors.ts';
import { foreignColumn } from '../types/duckdb-types.ts';
import { storedColumn } from '../types/stored-types.ts';
import { CATALOGUE_TABLES, NO_COLUMNS_NAME, sqlName } from '../wire/sql-names.ts';
import type { CatalogueFrame, ChildFailure, NamedPart, SqlParam, SqlResponses, SqlView } from '../wire/requests.ts';
import { frameViewSql, type PlainSelect, type ResultPlan, resultPlan } from './frame-view.ts';
import { refuseContested, toSqlError } from './errors.ts';
import type { ChildSlot, OnProgress } from './children.ts';

/** A statement in its child. */
export interface Statement {
  readonly limit: TimeLimit;
  /** Checks it and pins the frames it names. If it is just SHOW TABLES, returns the list of frames instead. */
  check(): Promise<readonly string[] | undefined>;
  prepare(params?: readonly SqlParam[]): Promise<SqlResponses['prepare']>;
  /** Returns how to read the columns of the prepared statement. */
  plan(columns: SqlResponses['prepare']['columns']): Promise<ResultPlan>;
  rows(plan: Omit<ResultPlan, 'schema'>, options?: DownloadOptions): AsyncGenerator<ArrayBuffer, number, undefined>;
  /** Converts a failure to the error for the client. Call it before `end`, while the frames are pinned. */
  failure(error: unknown): Promise<ServiceError>;
  /** True if it was interrupted for another: nothing was sent, and it can run again. */
  readonly isInterrupted: boolean;
  /** Throws if it was stopped; otherwise it will no longer be interrupted. */
  beginSending(): void;
  /** Releases frames and child when the child has sent everything, read or not. */
  releaseWhenSent(): void;
  /** Releases frames and child. */
  release(): void;
  /** Stops it in any state, and releases frames and child. */
  end(): void;
}

/** Options of `createStatement`. */
export interface StatementParts {
  readonly store: SqlFrames;
  readonly call: Call;
  readonly sql: string;
  readonly limit: TimeLimit;
  readonly slot: ChildSlot;
  /** Called with its progress. */
  readonly onProgress?: OnProgress | undefined;
  /** Paths to hide in errors. */
  readonly privatePaths: readonly string[];
}

/** The limits of a catalogue: its frames, and the columns of all of them. */
const MAX_SHOWN_FRAMES = 10_000;
const MAX_SHOWN_COLUMNS = 200_000;

/** Some of the frames of a statement. */
interface FramesPart {
  readonly views: SqlView[];
  readonly catalogue: CatalogueFrame[];
}

/** The length of the JSON of a message with frames: a longer one would take too long in one step. */
const MAX_PART_LENGTH = 512 * 1024;
/** About the length of the JSON of a column in the catalogue. */
const COLUMN_LENGTH = 64;

/** Creates a statement. It is not checked yet. */
export function createStatement(parts: StatementParts): Statement {
  const { store, call, sql, limit, slot, onProgress } = parts;
  const { child } = slot;
  const { tenant } = call;
  const signal = AbortSignal.any([limit.signal, slot.interrupted]);
  const context = { signal, origin: call };
  const pins: PinnedSource[] = [];
  let catalogue: readonly CatalogueFrame[] | undefined;
  let used: ReadonlySet<string> | undefined;
  let isReleased = false;

  function release(): void {
    if (isReleased) return;
    isReleased = true;
    slot.free();
    void child.settled().then(() => {
      for (const frame of pins) frame.release();
    });
  }

  async function pin({ name, position }: NamedPart): Promise<void> {
    const frame = await pinFrame(store, { tenant, name }, signal);
    if (frame === undefined) {
      const candidates = await store.handles(tenant);
      throw unknownFrame(sql, { name, position }, await child.call({ op: 'nearest', name, candidates }, context));
    }
    pins.push(frame);
  }

  /** Sends the frames in messages of a bounded size, except those of the last message: it returns them. */
  async function sendFrames(): Promise<FramesPart> {
    const pause = createYield();
    let part: FramesPart = { views: [], catalogue: [] };
    let size = 0;
    async function added(length: number): Promise<void> {
      size += length;
      if (size > MAX_PART_LENGTH) {
        await child.call({ op: 'frames', ...part }, context);
        part = { views: [], catalogue: [] };
        size = 0;
      }
      await pause();
    }
    for (const [i, frame] of pins.entries()) {
      const view = viewOf(frame, store.home, used && { frame: i, used });
      part.views.push(view);
      await added(view.sql.length);
    }
    for (const frame of catalogue ?? []) {
      part.catalogue.push(frame);
      await added(frame.columns.length * COLUMN_LENGTH);
    }
    return part;
  }

  return {
    limit,
    async check() {
      const checked = await child.call({ op: 'check', sql }, context);
      const { tables, columns = [], listsFrames, readsCatalogue, columnsUsed } = checked;
      used = columnsUsed && new Set(columnsUsed);
      // Starts here: the start of a child does not count.
      slot.begin();
      if (listsFrames) return store.handles(tenant);
      if (readsCatalogue) catalogue = await orAborted(catalogueOf(store, call, sql), signal);
      for (const table of tables) await pin(table);
      await refuseContested(sql, columns, pins);
      return undefined;
    },
    async prepare(params) {
      // With thousands of columns, this and the plan take milliseconds each.
      await createYield()();
      const rest = await sendFrames();
      return child.call(
        {
          op: 'prepare',
          home: store.home,
          directories: store.directories(tenant),
          views: rest.views,
          ...(catalogue && { catalogue: rest.catalogue }),
          ...(params && { params }),
        },
        { ...context, onProgress },
      );
    },
    async plan(columns) {
      const pause = createYield();
      await pause();
      const plan = resultPlan(columns, schemasOf(pins));
      await pause();
      return plan;
    },
    rows: ({ plans, casts }, options) =>
      child.rows({ op: 'rows', plans, ...(casts && { casts }) }, { ...context, onProgress, ...options }),
    failure: (error) => failureOf(error, parts, pins),
    get isInterrupted() {
      return slot.interrupted.aborted && !limit.signal.aborted;
    },
    beginSending() {
      signal.throwIfAborted();
      slot.beginSending();
    },
    release,
    releaseWhenSent() {
      void child.settled().then(release);
    },
    end() {
      limit.abort(new ServiceError('cancelled', 'The result was closed.'));
      release();
    },
  };
}

async function failureOf(
  error: unknown,
  { sql, limit, slot, privatePaths }: StatementParts,
  pins: readonly PinnedSource[],
): Promise<ServiceError> {
  // The deadline passed, or the client left, before the statement obeyed an interruption. It is no failure: without
  // the other reason, the statement would have run again.
  if (slot.interrupted.aborted && limit.signal.aborted) return cancelledError(limit.signal.reason);
  return (await frameFailure(error, pins, limit.signal)) ?? toSqlError(error, { sql, pins, privatePaths });
}

/** Pins a frame. If the signal is aborted first, the pin is released when it arrives. */
async function pinFrame(
  store: SqlFrames,
  ref: Parameters<SqlFrames['pin']>[0],
  signal: AbortSignal,
): Promise<PinnedSource | undefined> {
  const pinning = store.pin(ref);
  try {
    return await orAborted(pinning, signal);
  } catch (error) {
    // The conversion of a long file to Parquet goes on, for the next statement.
    void pinning.then(
      (late) => late?.release(),
      () => undefined,
    );
    throw error;
  }
}

/** Returns the view of a frame. */
function viewOf({ handle, version, paths, info }: PinnedSource, home: string, plain: PlainSelect | undefined): SqlView {
  // Relative paths: errors of DuckDB must not reveal where frames are stored.
  const files = paths.map((path) => relative(home, path));
  return { name: handle, version, sql: frameViewSql(files, info, plain) };
}

function unknownFrame(sql: string, { name, position }: NamedPart, nearest: string | null): ServiceError {
  return new ServiceError('invalid_sql', `There is no frame ${quoted(name)}.`, {
    hint: nearest === null ? unknownFrameHint(name) : `Did you mean ${quoted(nearest)}?`,
    query: sql,
    position: charactersBefore(sql, position),
  });
}

function schemasOf(pins: readonly PinnedSource[]): Schema[] {
  return pins.map(({ info }) => info.schema);
}

function unknownFrameHint(name: string): string {
  // A name may be as long as the SQL.
  const ending = `.${name.toLowerCase()}`;
  const table = CATALOGUE_TABLES.find((one) => one.endsWith(ending));
  return table === undefined ? 'SHOW TABLES lists the frames.' : `Did you mean ${table}?`;
}

/** Returns the catalogue for a statement. */
async function catalogueOf(store: SqlFrames, { tenant }: Call, sql: string): Promise<readonly CatalogueFrame[]> {
  // Counted first: describing too many would take long.
  const { length } = await store.handles(tenant);
  const frames = length <= MAX_SHOWN_FRAMES ? await store.describeAll(tenant) : [];
  const columns = frames.reduce((sum, { info }) => sum + info.schema.fields.length, 0);
  if (length <= MAX_SHOWN_FRAMES && columns <= MAX_SHOWN_COLUMNS) {
    const pause = createYield();
    const shapes: CatalogueFrame[] = [];
    for (const frame of frames) {
      await pause();
      shapes.push(frameShape(frame));
    }
    return shapes;
  }
  const many = length <= MAX_SHOWN_FRAMES ? `${columns} columns` : `${length} frames`;
  throw new ServiceError('invalid_sql', `There are ${many}, more than the catalogue can show.`, {
    hint: 'SHOW TABLES lists the frames, and DESCRIBE shows the columns of one.',
    query: sql,
  });
}

/** Returns a frame as the catalogue shows it: with the columns and types of `frameViewSql`. */
function frameShape({ handle, info }: DescribedFrame): CatalogueFrame {
  const { fields } = info.schema;
  const names = sqlNames(fields.map(({ name }) => name));
  const columns = fields.map((field, i) => ({
    name: names[i] ?? '',
    type: columnInfo(field).type,
    sqlType: sqlTypeOf(field),
  }));
  return { name: handle, rows: info.rows, columns: columns.length === 0 ? [NO_COLUMN] : columns };
}

/** DuckDB has no tables without columns: the placeholder. */
const NO_COLUMN = { name: NO_COLUMNS_NAME, type: 'BOOLEAN', sqlType: 'BOOLEAN' };

function sqlTypeOf(field: Field): string {
  const { metadata } = field;
  const type = typeOf(field);
  if (metadata.get(TYPE_METADATA_KEY) === 'LONG128') return 'HUGEINT';
  if (DataType.isInterval(type) || DataType.isDuration(type)) return 'INTERVAL';
  if (DataType.isTime(type) && type.unit === TimeUnit.NANOSECOND) return 'TIME_NS';
  const { get } = storedColumn(field);
  if (get.kind === 'digits') return 'VARCHAR';
  if (get.kind === 'empty_struct') return 'BOOLEAN';
  const [child] = childrenOf(field);
  if (child === undefined) return foreignColumn(field).sqlType;
  if (DataType.isMap(type)) {
    const [key, value] = keyAndValueOf(field).map(sqlTypeOf);
    return `MAP(${key}, ${value})`;
  }
  if (!DataType.isStruct(type)) return `${sqlTypeOf(child)}[]`;
  const names = sqlNames(type.children.map(({ name }) => name));
  return `STRUCT(${type.children.map((member, i) => `${sqlName(names[i] ?? '')} ${sqlTypeOf(member)}`).join(', ')})`;
}

/**
 * Returns the failure of a statement if the file of a frame is to blame and not the SQL. DuckDB's error only raises a
 * suspicion: the files are then verified against their checksums.
 */
async function frameFailure(
  error: unknown,
  pins: readonly PinnedSource[],
  signal: AbortSignal,
): Promise<ServiceError | undefined> {
  if (!(error instanceof ChildError)) return undefined;
  const { failure } = error;
  if (failure.code !== 'sql_fault' && failure.code !== 'unreadable_frame') return undefined;
  const suspects = suspectsOf(failure, pins);
  try {
    for (const frame of suspects) {
      const isForeign = frame.info.isForeign === true;
      const { isChecked } = isForeign ? { isChecked: false } : await frame.verify(signal);
      if (isChecked || !isOfTheFile(failure)) continue;
      return unreadableFrame(frame.handle, isForeign, unreadableParquet(failure.message, error));
    }
  } catch (damage) {
    if (signal.aborted) return undefined;
    return toServiceError(damage);
  }
  const first = suspects.find(({ info }) => info.isForeign !== true);
  return first && failure.kind !== UNNAMED ? unreadableFrame(first.handle, false, error) : undefined;
}

/** The kind of failures without details: a truncated page, an invalid footer. */
const UNNAMED = 'Invalid';
/** Messages about pages. They name no file. */
const BROKEN_PAGE = /file might be corrupted|Parquet file|bitpacked data/i;
/** These kinds of failures name their file. */
const NAMING: ReadonlySet<string> = new Set(['Invalid Input', 'IO', 'INTERNAL', 'FATAL', 'Serialization']);

/** Returns the frames whose files may have caused a failure. */
function suspectsOf(
  failure: Extract<ChildFailure, { code: 'sql_fault' | 'unreadable_frame' }>,
  pins: readonly PinnedSource[],
): readonly PinnedSource[] {
  if (failure.code === 'unreadable_frame') return pins.filter(({ handle }) => handle === failure.frame);
  if (failure.kind === UNNAMED || BROKEN_PAGE.test(failure.message)) return pins;
  if (!NAMING.has(failure.kind)) return [];
  return pins.filter(({ paths }) => paths.some((path) => failure.message.includes(`${basename(path)}"`)));
}
