import { ServiceError } from '@svc/errors';
import {
  type Call,
  type Decoders,
  type FrameInfo,
  type FrameRef,
  isFileFormat,
  parseHandle,
  type PutOptions,
  type PutResult,
  type PutSource,
  type Quota,
  type RowsOptions,
  UPLOAD_FORMATS,
} from '@svc/frames';
import { checkPutConditions, declaredField } from '@svc/frames/internal';
import type { Audit } from './audit.ts';
import { limitUpload } from './limit-upload.ts';
import { eventSource } from './event-source.ts';
import { createReadOperations, missingFrame, notFound, type ReadParts, schemaOf } from './read-operations.ts';
import { isAllowed } from './required-permissions.ts';
import type { PutFrameOptions, Service, ShownInfo, Upload } from './service.ts';
import { checkTtl } from './ttl.ts';

/** Dependencies of the operations on frames. */
export interface FrameParts extends ReadParts {
  readonly decoders: Decoders;
  readonly maxUploadBytes: number;
  /** Returns what the frames of a tenant may occupy; undefined if that is not limited. */
  readonly quotaOf: (tenant: string) => Quota | undefined;
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
export function createFrameOperations(parts: FrameParts): FrameOperations {
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
    // Also before the data is read, so that the client need not send it.
    if (isConditional(options)) checkPutConditions(ref, await store.describe(ref), options);
    let receiveMs: number | undefined;
    const onReceived = (): void => void (receiveMs = performance.now() - startMs);
    const result = await writeUpload(kind, parts, ref, { upload, onReceived }, put);
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

/** Creates the operations that change a frame without rows. */
function createChangeOperations({
  store,
  observe,
  begin,
  audit,
}: FrameParts): Pick<FrameOperations, 'dropFrame' | 'expireFrame' | 'renameFrame'> {
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

/** The columns of a frame that someone else may have put are only for callers who may describe it. */
export function shownInfo(call: Call, info: FrameInfo): ShownInfo {
  if (isAllowed(call, 'describeFrame')) return info;
  const { columns: _columns, ...others } = info;
  return others;
}

async function writeUpload(
  kind: 'frame_put' | 'frame_appended',
  { store, decoders, maxUploadBytes }: FrameParts,
  ref: FrameRef,
  { upload, onReceived }: { readonly upload: Upload; readonly onReceived: () => void },
  put: PutOptions & { readonly signal: AbortSignal },
): Promise<PutResult> {
  const { format, bytes = 0 } = upload;
  const body = limitUpload(upload, maxUploadBytes, onReceived);
  checkTypes(upload.rows ?? {});
  // A key that is missing in a JSON row is null, even if all rows lack it.
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
    // A refused put has not read its source, which holds a decoder until it is aborted.
    done.abort(new ServiceError('cancelled', 'The upload was abandoned.'));
  }
}

function isConditional({ ifAbsent, ifPresent, ifVersion }: PutFrameOptions): boolean {
  return ifAbsent === true || ifPresent === true || ifVersion !== undefined;
}

/** Refuses types that do not exist before the rows are read. */
function checkTypes({ columns = [] }: RowsOptions): void {
  for (const { name, type } of columns) if (type !== undefined) declaredField(name, type);
}

function refOf(call: Call, handle: string): FrameRef {
  return { tenant: call.tenant, handle: parseHandle(handle) };
}
