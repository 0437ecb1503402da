import { relative } from 'node:path';
import { onAbort, quoted, ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import type { Schema } from 'apache-arrow';
import { CATALOGUE_TABLES } from '../wire/catalogue-tables.ts';
import type { CatalogueFrame, NamedPart, SqlResponses, SqlParam, SqlView } from '../wire/sql-requests.ts';
import type { DownloadOptions } from '../engine/pending-request.ts';
import type { PinnedFrame, SqlFrames } from '../store/sql-frames.ts';
import { type ResultPlan, resultPlan } from './result-plan.ts';
import { charactersBefore } from './characters-before.ts';
import { frameFailure } from './frame-failure.ts';
import { frameShape } from './frame-shape.ts';
import { frameViewSql } from './frame-view.ts';
import { refuseContested } from './shared-columns.ts';
import type { ChildSlot } from './sql-children.ts';
import { toSqlError } from './sql-errors.ts';
import type { TimeLimit } from './time-limit.ts';

/** One statement in the child that was found for it. */
export interface Statement {
  readonly limit: TimeLimit;
  /** Checks it and pins the frames it names. Returns the list of frames instead where that is all it asks for. */
  check(): Promise<readonly string[] | undefined>;
  prepare(params?: readonly SqlParam[]): Promise<SqlResponses['prepare']>;
  /** How the columns that it was prepared to have are read. */
  plan(columns: SqlResponses['prepare']['columns']): ResultPlan;
  rows(plan: Omit<ResultPlan, 'schema'>, options?: DownloadOptions): AsyncGenerator<ArrayBuffer, number, undefined>;
  /** Any failure as the client sees it. Called before the end, while the frames are there to be looked at. */
  failure(error: unknown): Promise<ServiceError>;
  /** Whether it was stopped for another one: nothing was sent, and it can be run again. */
  readonly isInterrupted: boolean;
  /** Throws if it was stopped; from now on it is not stopped for another one. */
  keep(): void;
  /** Lets frames and child go as soon as the child has sent everything, read or not. */
  letGo(): void;
  /** Lets frames and child go. */
  release(): void;
  /** Stops it, wherever it is, and lets frames and child go. */
  end(): void;
}

/** What a statement is made of. */
export interface StatementParts {
  readonly store: SqlFrames;
  readonly call: Call;
  readonly sql: string;
  readonly limit: TimeLimit;
  readonly slot: ChildSlot;
  /** Paths that no error may show. */
  readonly privatePaths: readonly string[];
}

/** So many frames, and columns of them all, can be looked at as a catalogue. */
const MAX_SHOWN_FRAMES = 10_000;
const MAX_SHOWN_COLUMNS = 200_000;

/** A statement that nothing was done with yet. */
export function createStatement({ store, call, sql, limit, slot, privatePaths }: StatementParts): Statement {
  const { child } = slot;
  const { tenant } = call;
  const signal = AbortSignal.any([limit.signal, slot.interrupted]);
  const pins: PinnedFrame[] = [];
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
      throw unknownFrame(sql, { name, position }, await child.call({ op: 'nearest', name, candidates }, signal));
    }
    pins.push(frame);
  }

  return {
    limit,
    async check() {
      const checked = await child.call({ op: 'check', sql }, signal);
      const { tables, columns = [], listsFrames, readsCatalogue, columnsUsed } = checked;
      used = columnsUsed && new Set(columnsUsed);
      // A child that had to be started has not lost time that the statement took.
      slot.begin();
      if (listsFrames) return store.handles(tenant);
      if (readsCatalogue) catalogue = await orAborted(catalogueOf(store, call, sql), signal);
      for (const table of tables) await pin(table);
      refuseContested(sql, columns, pins);
      return undefined;
    },
    prepare(params) {
      const directories = store.directories(tenant);
      const views = viewsOf(pins, directories, used);
      return child.call(
        { op: 'prepare', directories, views, ...(catalogue && { catalogue }), ...(params && { params }) },
        signal,
      );
    },
    plan: (columns) => resultPlan(columns, schemasOf(pins)),
    rows: ({ plans, casts }, options) =>
      child.rows({ op: 'rows', plans, ...(casts && { casts }) }, { signal, ...options }),
    failure: async (error) =>
      (await frameFailure(error, pins, limit.signal)) ?? toSqlError(error, { sql, pins, privatePaths }),
    get isInterrupted() {
      return slot.interrupted.aborted && !limit.signal.aborted;
    },
    keep() {
      signal.throwIfAborted();
      slot.keep();
    },
    release,
    letGo() {
      void child.settled().then(release);
    },
    end() {
      limit.abort(new ServiceError('cancelled', 'The answer was closed.'));
      release();
    },
  };
}

/** Pins a frame; one that comes after the signal is aborted is released. */
async function pinFrame(
  store: SqlFrames,
  ref: Parameters<SqlFrames['pin']>[0],
  signal: AbortSignal,
): Promise<PinnedFrame | undefined> {
  const pinning = store.pin(ref);
  try {
    return await orAborted(pinning, signal);
  } catch (error) {
    // A long file of another format still becomes a Parquet file, for the next statement that needs it.
    void pinning.then(
      (late) => late?.release(),
      () => undefined,
    );
    throw error;
  }
}

/** The views of frames, as a statement that does something with no others than some columns may see them. */
function viewsOf(
  pins: readonly PinnedFrame[],
  [home = '']: readonly string[],
  used: ReadonlySet<string> | undefined,
): SqlView[] {
  // Relative paths: what DuckDB shows of them says nothing of where frames are kept.
  return pins.map(({ handle, version, path, info }, frame) => ({
    name: handle,
    version,
    sql: frameViewSql(relative(home, path), info, used && { frame, used }),
  }));
}

function unknownFrame(sql: string, { name, position }: NamedPart, nearest: string | null): ServiceError {
  return new ServiceError('invalid_sql', `There is no frame ${quoted(name)}.`, {
    hint: nearest === null ? unknownFrameHint(name) : `Did you mean ${quoted(nearest)}?`,
    query: sql,
    position: charactersBefore(sql, position),
  });
}

function schemasOf(pins: readonly PinnedFrame[]): Schema[] {
  return pins.map(({ info }) => info.schema);
}

function unknownFrameHint(name: string): string {
  const table = CATALOGUE_TABLES.find((one) => one.endsWith(`.${name.toLowerCase()}`));
  return table === undefined ? 'SHOW TABLES lists the frames there are.' : `Did you mean ${table}?`;
}

/** What a statement that reads the catalogue sees. */
async function catalogueOf(store: SqlFrames, { tenant }: Call, sql: string): Promise<readonly CatalogueFrame[]> {
  // Counted first: to look into so many takes long.
  const { length } = await store.handles(tenant);
  const frames = length <= MAX_SHOWN_FRAMES ? await store.describeAll(tenant) : [];
  const columns = frames.reduce((sum, { info }) => sum + info.schema.fields.length, 0);
  if (length <= MAX_SHOWN_FRAMES && columns <= MAX_SHOWN_COLUMNS) return frames.map(frameShape);
  const many = length <= MAX_SHOWN_FRAMES ? `${columns} columns` : `${length} frames`;
  throw new ServiceError('invalid_sql', `There are ${many}, more than the catalogue shows.`, {
    hint: 'SHOW TABLES lists the frames, and DESCRIBE shows the columns of one.',
    query: sql,
  });
}

/** Waits for something, but not longer than until a signal is aborted. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stopListening = onAbort(signal, () => reject(signal.reason));
    promise.then(resolve, reject).finally(stopListening);
  });
}
