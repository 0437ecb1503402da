import { realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { FILE_FORMATS, type FrameRef, type StoreFault, UPLOAD_FORMATS } from '@svc/frames';
import { createWriteReservations } from '@svc/frames/internal';
import { createAppendQueue } from './append-queue.ts';
import { appendRows } from './append-rows.ts';
import { dropFrame, expireFrame, renameFrame } from './change-frames.ts';
import { type CatalogueOptions, createCatalogue } from './catalogue/catalogue.ts';
import { checkFormat, markFormat } from './catalogue/directory-format.ts';
import { createDescribeQueue } from './describe-queue.ts';
import { createDamagedFrames } from './damaged-frames.ts';
import { type DirectoryLock, lockDirectory } from '../disk/directory-lock.ts';
import { createSqlFrames } from './create-sql-frames.ts';
import type { DurableStore, DurableStoreOptions } from './durable-store.ts';
import { createForeignFrames, type ForeignFrames } from './foreign/foreign-frames.ts';
import { createContentReader } from './frame-contents.ts';
import { createFrameVersions } from './catalogue/frame-versions.ts';
import { createDiskTier } from './memory/disk-tier.ts';
import { createFrameWarmer } from './memory/frame-warmer.ts';
import { createHotTier } from './memory/hot-tier.ts';
import { listFrames } from './list-frames.ts';
import { measureUsage } from './measure-usage.ts';
import { sizesOf } from './reserve-write.ts';
import { createFrameEncodings, createOpenFrameFile } from './open-frame-file.ts';
import { openStoredFrame } from './open-stored-frame.ts';
import { createParquetCopies } from './parquet-copies.ts';
import { freeDiskBytes } from '../disk/free-space.ts';
import { createUnnamedFiles } from '../disk/unnamed-files.ts';
import { createKeptContents } from './kept-contents.ts';
import { createPartMerger } from './part-merger.ts';
import { type LaterDirectory, planPrivateDirectory } from '../disk/private-directory.ts';
import type { StoreParts } from './store-parts.ts';
import { isFullDisk, readOnlyStore, toStoreError } from './store-errors.ts';
import { type FrameContents, infoOf, type StoredFrame } from './catalogue/stored-frame.ts';
import { createTenantFolder, type TenantFolder } from './catalogue/tenant-folder.ts';
import { verifyFrames } from './verify-frames.ts';
import { putRows } from './write-frames.ts';
import { createWriteHealth } from './write-health.ts';

const NOT_RESPONDING: StoreFault = {
  kind: 'not_responding',
  message: 'The engine that reads and writes frame files does not respond.',
};

/** The interval between sweeps of expired frames. */
const EXPIRY_MS = 10_000;

/**
 * Opens a directory of frames, and locks it until the store is closed. Fails with `DirectoryInUseError` if another process
 * holds it, and with `DirectoryFormatError` if a later version wrote it.
 */
export async function createDurableStore(options: DurableStoreOptions): Promise<DurableStore> {
  const { directory, isReadOnly = false, lockTimes } = options;
  await checkFormat(directory);
  if (isReadOnly) return createReader(options);
  await createTenantFolder(directory).prepare();
  const lock = await lockDirectory(directory, lockTimes);
  try {
    await markFormat(directory);
    return storeOf(await createParts(options, lock), options, () => releaseLock(lock, options));
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** A disk that cannot be written must not keep the server from stopping: the next start detects the stale lock. */
async function releaseLock(lock: DirectoryLock, { onProblem }: DurableStoreOptions): Promise<void> {
  await lock.release().catch((cause: unknown) => {
    onProblem?.({ kind: 'not_released', tenant: '', handle: '', cause });
  });
}

/** Opens a store that changes nothing in its directory. Files it has to write go into a private one. */
async function createReader(options: DurableStoreOptions): Promise<DurableStore> {
  const temporary = tmpdir();
  const copies = planPrivateDirectory(await realpath(temporary).catch(() => temporary));
  return storeOf(await createParts(options, undefined, copies), options, () => copies.remove());
}

async function createParts(
  options: DurableStoreOptions,
  lock: DirectoryLock | undefined,
  copyDirectory?: LaterDirectory,
): Promise<StoreParts> {
  // SQL uses relative paths between directories, which break across symbolic links.
  const directory = await realpath(options.directory).catch(() => options.directory);
  const { files, decoders, isReadOnly = false, hasTenants = false } = options;
  const { onProblem = () => {}, onExpired = () => {}, now = () => Date.now() } = options;
  const { tempDirectory = tmpdir(), compression = { compression: 'zstd', level: 3 } } = options;
  const { hot, disk } = createTiers({ ...options, tempDirectory });
  const damaged = createDamagedFrames(onProblem);
  const kept = createKeptContents(options.maxDescriptionBytes);
  const reader = createContentReader({
    files,
    decoders,
    kept,
    damaged,
    isKept: (frame) => !isReadOnly && catalogue.find(frame) === frame,
    readManifest: (frame) => catalogue.readManifest(frame),
    copyOf: (frame, contents) => copies.of(frame, contents),
  });
  const { maxEncodedBytes: maxBytes = 20 * 1024 ** 3 } = options;
  const copies = createParquetCopies({
    conversion: { files, decoders, maxBytes: options.maxDecompressedBytes },
    maxBytes,
    read: (frame, contents) => reader.read(frame, contents, {}),
    newPath: ({ tenant }) => newCopyPath(catalogue.folderOf(tenant), copyDirectory),
  });
  const unnamed = createUnnamedFiles(tempDirectory);
  const encoded = createFrameEncodings({ reader, files, compression, unnamed, maxBytes });
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
  const catalogue = await createCatalogue({
    directory,
    isReadOnly,
    versions,
    now,
    kept,
    onProblem,
    onExpired,
    onLeave,
  });
  const foreign = foreignOf({ ...options, directory }, onLeave);

  const checkLock = async (): Promise<void> => lock?.check();
  const parts: Omit<StoreParts, 'appends'> = {
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
    openFile: createOpenFrameFile(reader, encoded, disk),
    copyDirectory: copyDirectory?.path,
    catalogue,
    foreign,
    describing: createDescribeQueue({ catalogue, foreign, reader, onProblem }),
    onProblem,
    now,
    checkLock,
    reservations: createWriteReservations((tenant) => sizesOf(catalogue, tenant)),
    health: createWriteHealth({ folderOf: (tenant) => catalogue.folderOf(tenant), lockFailure: () => lock?.failure }),
    isReadOnly,
  };
  return { ...parts, appends: createAppendQueue(parts) };
}

function createTiers(
  options: DurableStoreOptions & { readonly tempDirectory: string },
): Pick<StoreParts, 'disk' | 'hot'> {
  const { cacheBytes = 1024 ** 3, diskCacheBytes = 0, minFreeBytes, tempDirectory } = options;
  return {
    hot: createHotTier(cacheBytes),
    disk: createDiskTier({ maxBytes: diskCacheBytes, freeBytes: () => freeDiskBytes(tempDirectory), minFreeBytes }),
  };
}

function foreignOf(
  { directory, decoders, duckdbPath, isReadOnly = false, files, onProblem }: DurableStoreOptions,
  onLeave: (frame: StoredFrame) => void,
): ForeignFrames {
  return createForeignFrames({
    directory,
    hasDecoders: decoders !== undefined,
    duckdbPath,
    isReadOnly,
    files,
    onLeave,
    onBrokenDatabase: (cause) => onProblem?.({ kind: 'unreadable_database', tenant: '', handle: '', cause }),
  });
}

/** Next to the frames, where the next start sweeps leftovers, or in another directory. */
async function newCopyPath(ownFolder: TenantFolder, copyDirectory: LaterDirectory | undefined): Promise<string> {
  await copyDirectory?.make();
  const folder = copyDirectory ? createTenantFolder(copyDirectory.path) : ownFolder;
  await folder.prepare();
  return folder.unfinishedPath();
}

function storeOf(
  parts: StoreParts,
  { files, decoders }: DurableStoreOptions,
  release: () => Promise<void>,
): DurableStore {
  const { catalogue, hot, disk, warmer, merger, copies, health, isReadOnly } = parts;
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

  const acquire = (ref: FrameRef): Promise<AcquiredFrame | undefined> => acquireFrame(parts, ref);

  return {
    ...createSqlFrames(parts, acquire),
    fileFormats: decoders === undefined ? FILE_FORMATS : UPLOAD_FORMATS,
    frameFileFormats: ['parquet', 'arrow', 'csv', 'ndjson'],
    put: (ref, source, put = {}) => change(ref, () => putRows(parts, ref, source, put)),
    append: (ref, source, append = {}) => change(ref, () => appendRows(parts, ref, source, append)),
    async open(ref) {
      const found = await acquire(ref);
      if (found === undefined) return undefined;
      const { frame, contents } = found;
      return openStoredFrame(parts, frame, contents, () => {
        catalogue.release(frame);
        copies.released(frame);
      });
    },
    async describe(ref) {
      const found = await acquire(ref);
      if (found === undefined) return undefined;
      catalogue.release(found.frame);
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
      ];
    },
    verify: (signal) => verifyFrames(parts, signal),
    async close() {
      clearInterval(timer);
      parts.describing.close();
      await Promise.all([warmer.close(), merger.close()]);
      await catalogue.settle();
      disk.clear();
      await Promise.all([copies.removeAll(), parts.encoded.close()]);
      await files.close();
      await release();
    },
  };
}

interface AcquiredFrame {
  readonly frame: StoredFrame;
  readonly contents: FrameContents;
}

/** A read-only store retries when a frame cannot be read: the holder of the directory may have replaced the file. */
const READ_ONLY_ATTEMPTS = 3;

/** Finds the frame with exactly this handle and its contents, and pins it until it is released. */
async function acquireFrame(parts: StoreParts, ref: FrameRef): Promise<AcquiredFrame | undefined> {
  const { catalogue, reader, describing, isReadOnly } = parts;
  for (let attempt = 1; ; attempt += 1) {
    const frame = (await catalogue.current(ref)) ?? (await foreignFrame(parts, ref));
    if (frame === undefined) return undefined;
    try {
      const describe = (): Promise<FrameContents> => reader.describe(frame);
      return { frame, contents: await (frame.contents ? describe() : describing.first(describe)) };
    } catch (error) {
      catalogue.release(frame);
      if (!isReadOnly || attempt === READ_ONLY_ATTEMPTS) throw error;
    }
  }
}

async function describeNewest({ catalogue, reader }: StoreParts): Promise<boolean> {
  const [first, ...others] = catalogue.needed().current;
  if (first === undefined) return false;
  const newest = others.reduce((best, frame) => (frame.created > best.created ? frame : best), first);
  catalogue.acquire(newest);
  try {
    await reader.describe(newest);
    return true;
  } finally {
    catalogue.release(newest);
  }
}

async function foreignFrame({ catalogue, foreign }: StoreParts, ref: FrameRef): Promise<StoredFrame | undefined> {
  // One that was put hides it, also if their handles differ in case.
  const frame = catalogue.find(ref) ? undefined : await foreign.find(ref);
  if (frame) catalogue.acquire(frame);
  return frame;
}
