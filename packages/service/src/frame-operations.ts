import { nearestName, ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import {
  type Call,
  type Decoders,
  type FrameFileFormat,
  type FrameInfo,
  type FrameRef,
  isFileFormat,
  isHandle,
  type OpenFrame,
  parseHandle,
  type PutOptions,
  type PutResult,
  type PutSource,
  type Quota,
  type RowsOptions,
  type Store,
  UPLOAD_FORMATS,
} from '@svc/frames';
import { declaredField } from '@svc/frames/columns';
import { checkPutConditions } from '@svc/frames/store';
import type { Schema } from 'apache-arrow';
import type { Audit } from './audit.ts';
import type { SqlTarget } from './engines.ts';
import { eventSource, type Observer } from './events.ts';
import { checkTtl, limitUpload } from './limits.ts';
import { isAllowed } from './permissions.ts';
import type { FileReading, OperationName, PutFrameOptions, Service, ShownInfo, Upload } from './service.ts';

/** What the operations of a service share. */
export interface OperationParts {
  readonly store: Store;
  readonly maxUploadBytes: number;
  /** Returns the quota of a tenant's frames; undefined if there is none. */
  readonly quotaOf: (tenant: string) => Quota | undefined;
  /** Throws if the call is cancelled, the caller lacks the permission, or the service is stopping. */
  readonly begin: (call: Call, operation: OperationName, target?: SqlTarget) => void;
  readonly observe: Observer;
  readonly audit: Audit;
}

type FrameOperations = Pick<
  Service,
  | 'appendFrame'
  | 'describeFrame'
  | 'dropFrame'
  | 'expireFrame'
  | 'findFile'
  | 'frameFileFormats'
  | 'listFrames'
  | 'maxUploadBytes'
  | 'openFile'
  | 'putFrame'
  | 'readFrame'
  | 'renameFrame'
  | 'uploadFormats'
>;

/** Creates the operations on the frames of a store. */
export function createFrameOperations(parts: OperationParts, decoders: Decoders): FrameOperations {
  const { store, maxUploadBytes, observe, begin, audit } = parts;

  async function write(
    kind: 'frame_put' | 'frame_appended',
    call: Call,
    handle: string,
    upload: Upload,
    options: PutFrameOptions,
  ): Promise<PutResult> {
    begin(call, kind === 'frame_put' ? 'putFrame' : 'appendFrame');
    const ref = refOf(call, handle);
    checkTtl(options.ttlSeconds);
    const startMs = performance.now();
    const put = { ...options, quota: parts.quotaOf(call.tenant), signal: call.signal, origin: call };
    // Also before the data is read: the client then need not send it.
    if (isConditional(options)) checkPutConditions(ref, await store.describe(ref), options);
    let receiveMs: number | undefined;
    const onReceived = (): void => void (receiveMs = performance.now() - startMs);
    const result = await writeUpload(kind, { ...parts, decoders }, ref, { upload, onReceived }, put);
    const { created, rowsWritten = result.info.rows } = result;
    const { rows, bytes } = result.info;
    const durationMs = performance.now() - startMs;
    observe({ kind, ...eventSource(call), handle, rows, rowsWritten, bytes, created, durationMs, receiveMs });
    return result;
  }

  return {
    maxUploadBytes,
    uploadFormats: UPLOAD_FORMATS.filter((format) => !isFileFormat(format) || store.fileFormats.includes(format)),

    ...createReadOperations(parts),

    async describeFrame(call, handle) {
      begin(call, 'describeFrame');
      const info = await store.describe(refOf(call, handle));
      if (info === undefined) throw await missingFrame(store, call, handle);
      return info;
    },

    async listFrames(call, list) {
      begin(call, 'listFrames');
      return store.list(call.tenant, list);
    },

    putFrame: (call, handle, upload, put = {}) =>
      audit.write(call, 'putFrame', handle, () => write('frame_put', call, handle, upload, put)),
    appendFrame: (call, handle, upload, put = {}) =>
      audit.write(call, 'appendFrame', handle, async () => {
        const { info, ...others } = await write('frame_appended', call, handle, upload, put);
        return { ...others, info: shownInfo(call, info) };
      }),

    ...createChangeOperations(parts),
  };
}

/** Creates the changes of a frame without rows. */
function createChangeOperations({
  store,
  observe,
  begin,
  audit,
}: OperationParts): Pick<Service, 'dropFrame' | 'expireFrame' | 'renameFrame'> {
  return {
    expireFrame: (call, handle, ttlSeconds) =>
      audit.write(call, 'expireFrame', handle, async () => {
        begin(call, 'expireFrame');
        checkTtl(ttlSeconds);
        const info = (await store.expire(refOf(call, handle), ttlSeconds)) ?? notFound(handle);
        observe({ kind: 'frame_expiry_set', ...eventSource(call), handle, expires: info.expires });
        return shownInfo(call, info);
      }),

    renameFrame: (call, handle, newHandle) =>
      audit.write(
        call,
        'renameFrame',
        handle,
        async () => {
          begin(call, 'renameFrame');
          const info = (await store.rename(refOf(call, handle), parseHandle(newHandle))) ?? notFound(handle);
          observe({ kind: 'frame_renamed', ...eventSource(call), handle, newHandle });
          return shownInfo(call, info);
        },
        newHandle,
      ),

    dropFrame: (call, handle) =>
      audit.write(call, 'dropFrame', handle, async () => {
        begin(call, 'dropFrame');
        if (!(await store.drop(refOf(call, handle)))) notFound(handle);
        observe({ kind: 'frame_dropped', ...eventSource(call), handle });
      }),
  };
}

/** Only callers who may describe a frame see its columns: someone else may have put it. */
export function shownInfo(call: Call, info: FrameInfo): ShownInfo {
  if (isAllowed(call, 'describeFrame')) return info;
  const { columns: _columns, ...others } = info;
  return others;
}

async function writeUpload(
  kind: 'frame_put' | 'frame_appended',
  {
    store,
    decoders,
    maxUploadBytes,
  }: Pick<OperationParts, 'maxUploadBytes' | 'store'> & { readonly decoders: Decoders },
  ref: FrameRef,
  { upload, onReceived }: { readonly upload: Upload; readonly onReceived: () => void },
  put: PutOptions & { readonly signal: AbortSignal },
): Promise<PutResult> {
  const { format, bytes = 0 } = upload;
  const body = limitUpload(upload, maxUploadBytes, onReceived);
  checkTypes(upload.rows ?? {});
  // A missing key of a JSON row is null, even if all rows lack it.
  const missingAsNull = format === 'json' || format === 'ndjson';
  const write = (source: PutSource): Promise<PutResult> =>
    kind === 'frame_put' ? store.put(ref, source, put) : store.append(ref, source, { ...put, missingAsNull });
  if (format === 'csv') return write({ format, body, bytes, ...(upload.csv && { options: upload.csv }) });
  if (format === 'parquet' || format === 'arrow') {
    if (format === 'parquet' || store.fileFormats.includes(format)) return write({ format, body, bytes });
  } else if (store.fileFormats.includes(format)) {
    return write({ format, body, bytes, ...(upload.rows && { options: upload.rows }) });
  }
  const { freeBytes } = await store.usage();
  const addedTo = kind === 'frame_appended' ? await schemaOf(store, ref) : undefined;
  const done = new AbortController();
  try {
    const signal = AbortSignal.any([put.signal, done.signal]);
    const origin = put.origin && { origin: put.origin };
    const options = { signal, ...origin, maxBytes: freeBytes, ...upload.rows, ...(addedTo && { addedTo }) };
    return await write(await decoders.decode(format, body, options));
  } finally {
    // A refused put has not read its source: it holds a decoder until it is aborted.
    done.abort(new ServiceError('cancelled', 'The upload was abandoned.'));
  }
}

function isConditional({ ifAbsent, ifPresent, ifVersion }: PutFrameOptions): boolean {
  return ifAbsent === true || ifPresent === true || ifVersion !== undefined;
}

/** Refuses unknown types before the rows are read. */
function checkTypes({ columns = [] }: RowsOptions): void {
  for (const { name, type } of columns) if (type !== undefined) declaredField(name, type);
}

function refOf(call: Call, handle: string): FrameRef {
  return { tenant: call.tenant, handle: parseHandle(handle) };
}

/** Creates the reads of the rows of a frame. */
function createReadOperations({
  store,
  observe,
  begin,
}: OperationParts): Pick<Service, 'findFile' | 'frameFileFormats' | 'openFile' | 'readFrame'> {
  async function open(call: Call, handle: string, operation: OperationName): Promise<OpenFrame> {
    begin(call, operation);
    // For a reader, the frame of an invalid handle does not exist.
    const frame = isHandle(handle) ? await store.open({ tenant: call.tenant, handle }) : undefined;
    if (frame === undefined) throw await missingFrame(store, call, handle);
    return frame;
  }

  function opened(call: Call, handle: string, { info: { rows } }: OpenFrame, startMs: number): void {
    observe({ kind: 'frame_opened', ...eventSource(call), handle, rows, durationMs: performance.now() - startMs });
  }

  async function openFile(
    call: Call,
    handle: string,
    format: FrameFileFormat,
    mustExist: boolean,
  ): Promise<FileReading | undefined> {
    const startMs = performance.now();
    const frame = await open(call, handle, mustExist ? 'findFile' : 'openFile');
    try {
      const file = await frame.file?.(format, { mustExist, signal: call.signal });
      if (file === undefined) {
        frame.close();
        return undefined;
      }
      opened(call, handle, frame, startMs);
      const close = (): void => {
        file.close();
        frame.close();
      };
      return { info: frame.info, file, close };
    } catch (error) {
      frame.close();
      throw error;
    }
  }

  return {
    frameFileFormats: store.frameFileFormats ?? [],

    async openFile(call, handle, format) {
      return (await openFile(call, handle, format, false)) ?? noFiles(format);
    },
    findFile: (call, handle, format) => openFile(call, handle, format, true),

    async readFrame(call, handle, read = {}) {
      const startMs = performance.now();
      const frame = await open(call, handle, 'readFrame');
      try {
        const stream = frame.read({ ...read, signal: call.signal, origin: call });
        opened(call, handle, frame, startMs);
        return { info: frame.info, stream, close: () => frame.close() };
      } catch (error) {
        frame.close();
        throw error;
      }
    },
  };
}

/** Throws the error of a missing frame. */
export function notFound(handle: string): never {
  throw noFrame(handle);
}

function noFrame(handle: string, hint?: string): ServiceError {
  return new ServiceError(
    'handle_not_found',
    `There is no frame ${quoted(handle)}.`,
    hint === undefined ? {} : { hint },
  );
}

/** The most handles to compare: waiting clients ask for a frame again and again. */
const MAX_COMPARED = 200;
/** About the most pairs of characters to compare: long handles are compared with fewer others. */
const MAX_PAIRS = 300_000;

/** Any two shorter handles are close to each other. */
const MIN_LENGTH = 3;

/** Returns the error of a missing frame. A caller who may list handles gets the nearest one as a hint. */
async function missingFrame(store: Store, call: Call, handle: string): Promise<ServiceError> {
  const nearest = isAllowed(call, 'listFrames') ? await nearestHandle(store, call.tenant, handle) : undefined;
  return noFrame(handle, nearest && `Did you mean ${quoted(nearest)}? GET /frames lists all handles.`);
}

async function nearestHandle(store: Store, tenant: string, handle: string): Promise<string | undefined> {
  if (handle.length < MIN_LENGTH) return undefined;
  // The error is about the frame, even if the handles cannot be listed.
  const handles = (await store.handles?.(tenant).catch(() => [])) ?? [];
  const candidates = handles.filter(({ length }) => Math.abs(length - handle.length) <= handle.length / 3);
  const compared = candidates.slice(0, Math.min(MAX_COMPARED, Math.floor(MAX_PAIRS / handle.length ** 2)));
  return nearestName(handle, new Map(compared.map((name) => [name, name])));
}

function noFiles(format: string): never {
  throw new ServiceError('invalid_argument', `This server does not provide frames as ${format} files.`, {
    hint: 'Export the frame with /exp.',
  });
}

/** Returns the schema of a frame; undefined if there is none. */
export async function schemaOf(store: Store, ref: FrameRef): Promise<Schema | undefined> {
  const frame = await store.open(ref);
  try {
    return frame?.read({ limit: 0 }).schema;
  } finally {
    frame?.close();
  }
}
