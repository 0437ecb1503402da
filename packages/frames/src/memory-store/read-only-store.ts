import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { RecordBatch, Schema, Table } from 'apache-arrow';
import { monotonicFactory } from 'ulid';
import { columnInfo } from '../column-types.ts';
import { createFrameBytes } from '../columns/record-batch.ts';
import { sliceStream } from '../columns/slice-batches.ts';
import { adoptBatch, adoptSchema } from '../decode/adopt-batch.ts';
import { type FrameInfo, type FrameRef, type Handle, isHandle, type OpenFrame, type Store } from '../store.ts';

/** A frame whose rows come from a program: its memory, a database, another service. */
export interface ReadOnlyFrame {
  readonly schema: Schema;
  readonly rows: number;
  /** Returns the rows, from the first. Called for each read, which may stop early: a generator then runs its `finally`. */
  batches(): Iterable<RecordBatch> | AsyncIterable<RecordBatch>;
  /**
   * Changes with the rows, and later versions sort after earlier ones: clients cache by it. Default: a new one for each
   * object, so responses are cached only as long as `open` returns the same one.
   */
  readonly version?: string;
  /** Called once for each time `open` returned the frame, when it is no longer used: also after a list or a description. */
  close?(): void;
}

/** The frames of a program. */
export interface ReadOnlyStoreOptions {
  /** Returns the handles of a tenant, in any order. */
  list(tenant: string): Iterable<string> | Promise<Iterable<string>>;
  /** Returns a frame; undefined if there is none. Lists and descriptions call it too, and read no rows. */
  open(tenant: string, handle: string): ReadOnlyFrame | Table | undefined | Promise<ReadOnlyFrame | Table | undefined>;
}

/** Creates a store of frames a program provides. Clients cannot change them: every write is `permission_denied`. */
export function createReadOnlyStore(options: ReadOnlyStoreOptions): Store {
  const nextVersion = monotonicFactory();
  const known = new WeakMap<object, Pick<FrameInfo, 'bytes' | 'created' | 'version'>>();

  async function open({ tenant, handle }: FrameRef): Promise<OpenFrame | undefined> {
    const found = await options.open(tenant, handle);
    if (found === undefined) return undefined;
    const frame = isTable(found) ? frameOf(found) : found;
    const facts = known.get(found) ?? { bytes: bytesOf(found), created: new Date(), version: nextVersion() };
    known.set(found, facts);
    const { bytes, created } = facts;
    const { rows, version = facts.version } = frame;
    const schema = adoptSchema(frame.schema);
    const columns = schema.fields.map(columnInfo);
    let isClosed = false;
    return {
      info: { handle, rows, bytes, columns, created, version, expires: null, tier: 'memory' },
      read: (read = {}) => sliceStream({ schema, batches: { [Symbol.asyncIterator]: () => rowsOf(frame) } }, read),
      close() {
        if (!isClosed) frame.close?.();
        isClosed = true;
      },
    };
  }

  async function describe(ref: FrameRef): Promise<FrameInfo | undefined> {
    const frame = await open(ref);
    frame?.close();
    return frame?.info;
  }

  async function handles(tenant: string): Promise<Handle[]> {
    return [...(await options.list(tenant))].map(checkedHandle).toSorted((a, b) => (a < b ? -1 : 1));
  }

  /** A frame that does not exist is not found, rather than read-only. */
  async function refuseChange(ref: FrameRef): Promise<undefined> {
    if ((await describe(ref)) !== undefined) throw readOnly(ref);
  }

  return {
    fileFormats: [],
    put: async (ref) => Promise.reject(readOnly(ref)),
    append: async (ref) => Promise.reject(readOnly(ref)),
    open,
    describe,
    async list(tenant, { prefix = '', after = '', limit = Infinity } = {}) {
      const infos: FrameInfo[] = [];
      for (const handle of await handles(tenant)) {
        if (infos.length >= limit) break;
        if (!handle.startsWith(prefix) || handle <= after) continue;
        const info = await describe({ tenant, handle });
        // It may have gone since it was listed.
        if (info !== undefined) infos.push(info);
      }
      return infos;
    },
    handles,
    expire: refuseChange,
    rename: refuseChange,
    drop: async (ref) => (await refuseChange(ref)) ?? false,
    // The program has its own budget, and no upload gets as far as this one.
    usage: async () => ({ frames: 0, bytes: 0, freeBytes: Number.MAX_SAFE_INTEGER }),
    faults: async () => [],
    close: async () => undefined,
  };
}

/** A table of another copy of apache-arrow need not be an instance of `Table`. */
function isTable(frame: ReadOnlyFrame | Table): frame is Table {
  return typeof frame.batches !== 'function';
}

function frameOf(table: Table): ReadOnlyFrame {
  return { schema: table.schema, rows: table.numRows, batches: () => table.batches };
}

async function* rowsOf(frame: ReadOnlyFrame): AsyncGenerator<RecordBatch> {
  for await (const batch of frame.batches()) if (batch.numRows > 0) yield adoptBatch(batch);
}

/** The memory of rows that are here; it is not known how many bytes others have. */
function bytesOf(frame: ReadOnlyFrame | Table): number {
  if (!isTable(frame)) return 0;
  const counter = createFrameBytes();
  // An empty batch created by apache-arrow has nested columns without children.
  return frame.batches.reduce((bytes, batch) => bytes + (batch.numRows > 0 ? counter.add(batch) : 0), 0);
}

function checkedHandle(text: string): Handle {
  if (isHandle(text)) return text;
  throw new TypeError(`list returned ${quoted(text)}, which is not a handle.`);
}

function readOnly({ handle }: FrameRef): ServiceError {
  return new ServiceError(
    'permission_denied',
    `The frame ${quoted(handle)} cannot be written: the frames here are read-only.`,
    {
      hint: 'Change the rows where they come from.',
    },
  );
}
