import { realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { type Decoders, FILE_FORMATS, type FrameRef, type Store, type StoreFault, UPLOAD_FORMATS } from '@svc/frames';
import { createWriteReservations } from '@svc/frames/store';
import { createCacheBudget } from '@svc/frames/streams';
import { freeDiskBytes, makeDirectory } from '@svc/objects/internal';
import { type DirectoryLock, lockDirectory, type LockTimes } from '../disk/directory-lock.ts';
import { type LaterDirectory, planPrivateDirectory } from '../disk/private-directory.ts';
import { createUnnamedFiles } from '../disk/unnamed-files.ts';
import type { FrameFiles, WriteOptions } from '../files/frame-files.ts';
import { createAppends } from './append/append-rows.ts';
import { createPartMerger } from './append/part-merger.ts';
import { Catalogue, type CatalogueOptions } from './catalogue/catalogue.ts';
import { checkFormat, endTakeOver, markFormat } from './catalogue/directory-format.ts';
import { createFrameVersions } from './catalogue/frame-versions.ts';
import type { StoreProblem } from './catalogue/store-problem.ts';
import { infoOf, type StoredFrame } from './catalogue/stored-frame.ts';
import { createTenantFolder, planOwnDirectory } from './catalogue/tenant-folder.ts';
import { dropFrame, expireFrame, renameFrame } from './change-frames.ts';
import { createSqlFrames, type SqlFrames } from './sql-frames.ts';
import { createDamagedFrames, createWriteHealth, MAX_FAULTS } from './store-health.ts';
import { createDescribeQueue } from './describe-queue.ts';
import { createForeignFrames } from './foreign/foreign-frames.ts';
import { createContentReader, createKeptContents } from './frame-contents.ts';
import { type FrameVerdict, listFrames, measureUsage, verifyFrames } from './all-frames.ts';
import { createDiskTier } from './derived/disk-tier.ts';
import { createFrameWarmer } from './derived/frame-warmer.ts';
import { createHotTier } from './derived/hot-tier.ts';
import { createEncodedFiles, FRAME_FILE_FORMATS } from './derived/encoded-files.ts';
import { acquireFrame, describeNewest, openFrame, releaseFrame } from './read-frame.ts';
import { createParquetCopies } from './derived/parquet-copies.ts';
import { putRows, sizesOf } from './put-frame.ts';
import { isFullDisk, readOnlyStore, toStoreError } from './store-errors.ts';
import type { StoreParts } from './store-parts.ts';

/** Options of `createDurableStore`. */
export interface DurableStoreOptions {
  /** The directory of the frames, with a folder for each tenant. It is created if it does not exist. */
  readonly directory: string;
  /** Reads and writes the files. The store closes it. */
  readonly files: FrameFiles;
  /** Bytes of memory for recently put or read frames. Default 1 GiB; 0: none. */
  readonly cacheBytes?: number;
  /**
   * Bytes on disk for all derived forms of frames together: decoded rows of frames too large for memory and files
   * encoded for clients, in `tempDirectory`, and Parquet copies of foreign files. Default, and 0: 20 GiB, without
   * decoded rows.
   */
  readonly diskCacheBytes?: number;
  /** Decoded frames leave this many bytes free. Default 0. */
  readonly minFreeBytes?: number;
  /** How files are compressed. Default zstd, level 3. */
  readonly compression?: Pick<WriteOptions, 'compression' | 'level'>;
  /** The parent of a private folder for decoded frames and encoded files. Default: the directory of the system. */
  readonly tempDirectory?: string;
  /** The memory limit of the descriptions of frames, in bytes; others are read again on demand. Default 256 MiB. */
  readonly maxDescriptionBytes?: number;
  /** Above this number of parts, small parts of a frame are merged in the background. Default 64. */
  readonly mergeAbove?: number;
  /** A DuckDB database whose tables are read-only frames of the default tenant. Default: none. */
  readonly duckdbPath?: string;
  /**
   * Decodes uploads of JSON, NDJSON and Arrow, and such foreign files. The store does not
   * close it. Default: such uploads are refused, and such files are not frames.
   */
  readonly decoders?: Decoders;
  /** The limit of a compressed foreign file, decompressed, in bytes. Default 20 GiB. */
  readonly maxDecompressedBytes?: number;
  /** True if there are tenants besides the default one: its SQL must not read their folders. Default false. */
  readonly hasTenants?: boolean;
  /** Opens the directory read-only, even if another process holds it. Default false. */
  readonly isReadOnly?: boolean;
  /** Called with every expired frame when it is removed. Default: none. */
  readonly onExpired?: (frame: FrameRef) => void;
  /** Called with problems of single frames. Default: none. */
  readonly onProblem?: (problem: StoreProblem) => void;
  /** The clock. Default `Date.now`. */
  readonly now?: () => number;
  /** The timing of the directory lock. */
  readonly lockTimes?: LockTimes;
}

/** The state of the cache of frames, in memory and on disk. */
export interface FrameCacheState {
  readonly frames: number;
  readonly bytes: number;
  /** How many reads were of frames in memory, and how many of others. */
  readonly hits: number;
  readonly misses: number;
  /** The decoded frames on disk. */
  readonly disk: { readonly bytes: number; readonly hits: number; readonly misses: number };
}

/** A store with frames as files, for `createSqlEngine`. */
export interface DurableStore extends Store, SqlFrames {
  readonly handles: SqlFrames['handles'];
  /**
   * Describes the newest stored frame: most often, the first request after a start reads it. False if there is none.
   */
  describeNewest(): Promise<boolean>;
  /** Returns the state of the cache of frames. */
  cacheState(): FrameCacheState;
  /** Compares the files of all stored frames with their checksums, also those verified before. */
  verify(signal?: AbortSignal): AsyncIterable<FrameVerdict>;
}

const NOT_RESPONDING: StoreFault = {
  kind: 'not_responding',
  message: 'The engine that reads and writes frame files does not respond.',
};

/** The interval between sweeps of expired frames. */
const EXPIRY_MS = 10_000;
/** The interval between sweeps of what killed processes have left: of some, it is only known after a minute. */
const SWEEP_MS = 60_000;

/**
 * Opens a directory of frames, and locks it until the store is closed. Fails with `DirectoryInUseError` if another process
 * holds it, and with `DirectoryFormatError` if a later version wrote it.
 */
export async function createDurableStore(options: DurableStoreOptions): Promise<DurableStore> {
  const { directory, isReadOnly = false, lockTimes } = options;
  await checkFormat(directory);
  if (isReadOnly) return createReader(options);
  await makeDirectory(directory);
  // SQL uses relative paths between directories: they break across symbolic links.
  const own = planOwnDirectory(await realpath(directory));
  const lock = await lockDirectory(directory, lockTimes);
  try {
    await markFormat(directory);
    // What killed processes have left may fill the disk.
    await own.sweep();
    const parts = await createParts(options, own, lock);
    await endTakeOver(directory);
    const timer = setInterval(() => void own.sweep(), SWEEP_MS).unref();
    return storeOf(parts, options, async () => {
      clearInterval(timer);
      await releaseAll([own.remove(), lock.release()], options);
    });
  } catch (error) {
    await Promise.allSettled([own.remove(), lock.release()]);
    throw error;
  }
}

/** A read-only disk must not keep the server from stopping: the next start detects what is left. */
async function releaseAll(releases: readonly Promise<void>[], { onProblem }: DurableStoreOptions): Promise<void> {
  const failed = (await Promise.allSettled(releases)).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') {
    onProblem?.({ kind: 'not_released', tenant: '', handle: '', cause: failed.reason });
  }
}

function faultOf({ tenant, handle, failure }: ReturnType<Catalogue['notTakenOver']>[number]): StoreFault {
  return { kind: 'damaged_frame', message: failure.message, tenant, handle };
}

/** Opens a store for reading only. Files it has to write go into a private directory. */
async function createReader(options: DurableStoreOptions): Promise<DurableStore> {
  const temporary = tmpdir();
  const own = planPrivateDirectory(await realpath(temporary).catch(() => temporary));
  return storeOf(await createParts(options, own), options, () => own.remove());
}

async function createParts(
  options: DurableStoreOptions,
  own: LaterDirectory,
  lock?: DirectoryLock,
): Promise<StoreParts> {
  // SQL uses relative paths between directories: they break across symbolic links.
  const directory = await realpath(options.directory).catch(() => options.directory);
  const { files, decoders, isReadOnly = false, hasTenants = false } = options;
  const { onProblem = () => {}, onExpired = () => {}, now = () => Date.now() } = options;
  const { tempDirectory = tmpdir(), compression = { compression: 'zstd', level: 3 } } = options;
  const { diskCacheBytes, minFreeBytes } = options;
  // Decoded frames give way first, then encoded files, then copies.
  const budget = createCacheBudget(diskCacheBytes || 20 * 1024 ** 3);
  const hot = createHotTier<StoredFrame>(options.cacheBytes ?? 1024 ** 3);
  const freeBytes = async (): Promise<number> => (diskCacheBytes ? freeDiskBytes(tempDirectory) : 0);
  const disk = createDiskTier<StoredFrame>({ budget, freeBytes, minFreeBytes });
  const damaged = createDamagedFrames(onProblem);
  const kept = createKeptContents(options.maxDescriptionBytes);
  const reader = createContentReader({
    files,
    decoders,
    kept,
    damaged: {
      add(frame, cause) {
        // The next reader may find that it was restored.
        catalogue.pins.retire(frame);
        if (isReadOnly || catalogue.isCurrent(frame)) damaged.add(frame, cause);
      },
    },
    isKept: (frame) => !isReadOnly && catalogue.isCurrent(frame),
    readRows: (frame) => catalogue.readRows(frame),
    copyOf: (frame, contents) => copies.of(frame, contents),
  });
  const unnamed = createUnnamedFiles(tempDirectory);
  const encoded = createEncodedFiles({ reader, files, compression, unnamed, budget, disk });
  const copies = createParquetCopies({
    conversion: { files, decoders, maxBytes: options.maxDecompressedBytes },
    budget,
    read: (frame, contents) => reader.read(frame, contents, {}),
    newPath: ({ tenant }) => catalogue.folderOf(tenant).newFile(),
  });
  const onLeave: CatalogueOptions['onLeave'] = (frame, { successor, isSame = false } = {}) => {
    for (const tier of [hot, disk]) {
      if (successor && isSame) tier.move(frame, successor);
      else tier.remove(frame);
    }
    kept.remove(frame);
    copies.remove(frame);
    encoded.remove(frame);
    damaged.remove(frame, successor);
  };
  const versions = createFrameVersions(now);
  const checkLock = async (): Promise<void> => lock?.check();
  const catalogue = new Catalogue({
    directory,
    own,
    isReadOnly,
    versions,
    files,
    now,
    checkLock,
    kept,
    onProblem,
    onExpired,
    onLeave,
  });
  await catalogue.rescan();
  const foreign = createForeignFrames({
    directory,
    hasDecoders: decoders !== undefined,
    duckdbPath: options.duckdbPath,
    isReadOnly,
    files,
    onLeave,
    onBrokenDatabase: (cause) => onProblem({ kind: 'unreadable_database', tenant: '', handle: '', cause }),
  });
  return {
    directory,
    hasTenants,
    files,
    compression,
    merger: createPartMerger({ catalogue, reader, files, compression, checkLock, mergeAbove: options.mergeAbove }),
    hot,
    disk,
    decoders,
    reader,
    damaged,
    warmer: createFrameWarmer({ reader, files, unnamed, hot, disk, catalogue }),
    copies,
    encoded,
    catalogue,
    foreign,
    describing: createDescribeQueue({ catalogue, foreign, reader, onProblem }),
    onProblem,
    now,
    checkLock,
    reservations: createWriteReservations((tenant) => sizesOf(catalogue, tenant)),
    health: createWriteHealth({
      foldersOf: (tenant) => [catalogue.folderOf(tenant), createTenantFolder(catalogue.pathOf(tenant))],
      lockFailure: () => lock?.failure,
    }),
    isReadOnly,
  };
}

function storeOf(
  parts: StoreParts,
  { files, decoders }: DurableStoreOptions,
  release: () => Promise<void>,
): DurableStore {
  const { catalogue, hot, disk, warmer, merger, copies, health, isReadOnly } = parts;
  const appendRows = createAppends(parts);
  const timer = setInterval(() => catalogue.removeExpired(), EXPIRY_MS).unref();

  async function change<T>({ tenant }: FrameRef, work: () => Promise<T>): Promise<T> {
    if (isReadOnly) throw readOnlyStore();
    try {
      return await health.observe(tenant, work);
    } catch (error) {
      // The next attempt may use the space of decoded frames and copies.
      if (isFullDisk(error)) {
        disk.clear();
        copies.clear();
      }
      throw toStoreError(error);
    }
  }

  return {
    ...createSqlFrames(parts),
    fileFormats: decoders === undefined ? FILE_FORMATS : UPLOAD_FORMATS,
    frameFileFormats: FRAME_FILE_FORMATS,
    put: (ref, source, put = {}) => change(ref, () => putRows(parts, ref, source, put)),
    append: (ref, source, append = {}) => change(ref, () => appendRows(ref, source, append)),
    open: (ref) => openFrame(parts, ref),
    async describe(ref) {
      const found = await acquireFrame(parts, ref, 'description');
      if (found === undefined) return undefined;
      releaseFrame(parts, found.frame);
      return infoOf(found.frame, found.contents, hot.has(found.frame));
    },
    describeNewest: () => describeNewest(parts),
    list: (tenant, list = {}) => listFrames(parts, tenant, list),
    expire: (ref, ttlSeconds) => change(ref, () => expireFrame(parts, ref, ttlSeconds)),
    rename: (ref, handle) => change(ref, () => renameFrame(parts, ref, handle)),
    drop: (ref) => change(ref, () => dropFrame(parts, ref)),
    usage: () => measureUsage(parts),
    cacheState: () => ({
      frames: hot.count(),
      bytes: hot.usedBytes,
      ...hot.reads,
      disk: { bytes: disk.usedBytes, ...disk.reads },
    }),
    async faults() {
      return [
        ...(files.isResponding() ? [] : [NOT_RESPONDING]),
        ...(await health.faults()),
        ...(await parts.damaged.faults()),
        ...catalogue.notTakenOver().slice(0, MAX_FAULTS).map(faultOf),
      ];
    },
    verify: (signal) => verifyFrames(parts, signal),
    async close() {
      clearInterval(timer);
      parts.describing.close();
      await Promise.all([warmer.close(), merger.close()]);
      await catalogue.background.settle();
      disk.clear();
      await Promise.all([copies.close(), parts.encoded.close()]);
      await files.close();
      await release();
    },
  };
}
