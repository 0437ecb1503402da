import { quoted, ServiceError } from '@svc/errors';
import {
  type Call,
  type Decoders,
  type FrameRef,
  isHandle,
  parseHandle,
  type PutOptions,
  type PutResult,
  type Store,
} from '@svc/frames';
import type { Observer } from './events.ts';
import { limitBytes } from './limit-bytes.ts';
import type { Service, Upload } from './service.ts';
import { checkTtl } from './ttl.ts';

/** What the operations on frames work with. */
export interface FrameParts {
  readonly store: Store;
  readonly decoders: Decoders;
  readonly maxUploadBytes: number;
  readonly observe: Observer;
  /** Fails where the call may not begin. */
  readonly begin: (call: Call) => void;
}

type FrameOperations = Pick<
  Service,
  'describeFrame' | 'dropFrame' | 'expireFrame' | 'listFrames' | 'putFrame' | 'readFrame'
>;

/** The operations on the frames of a store. */
export function createFrameOperations(parts: FrameParts): FrameOperations {
  const { store, observe, begin } = parts;
  return {
    async readFrame(call, handle, read = {}) {
      begin(call);
      // A text that could never be a handle names no frame: to a reader that is not found, not malformed.
      if (!isHandle(handle)) return notFound(handle);
      const frame = (await store.open({ tenant: call.tenant, handle })) ?? notFound(handle);
      try {
        const stream = frame.read({ ...read, signal: call.signal });
        observe({ kind: 'frame_opened', ...who(call), handle, rows: frame.info.rows });
        return { info: frame.info, stream, close: () => frame.close() };
      } catch (error) {
        frame.close();
        throw error;
      }
    },

    async describeFrame(call, handle) {
      begin(call);
      return (await store.describe(refOf(call, handle))) ?? notFound(handle);
    },

    async listFrames(call, list) {
      begin(call);
      return store.list(call.tenant, list);
    },

    async putFrame(call, handle, upload, put = {}) {
      begin(call);
      const ref = refOf(call, handle);
      checkTtl(put.ttlSeconds);
      const startMs = performance.now();
      const result = await putUpload(parts, ref, upload, { ...put, signal: call.signal });
      const { rows, bytes } = result.info;
      const durationMs = performance.now() - startMs;
      observe({ kind: 'frame_put', ...who(call), handle, rows, bytes, created: result.created, durationMs });
      return result;
    },

    async expireFrame(call, handle, ttlSeconds) {
      begin(call);
      checkTtl(ttlSeconds);
      const info = (await store.expire(refOf(call, handle), ttlSeconds)) ?? notFound(handle);
      observe({ kind: 'frame_expiry_set', ...who(call), handle, expires: info.expires });
      return info;
    },

    async dropFrame(call, handle) {
      begin(call);
      if (!(await store.drop(refOf(call, handle)))) notFound(handle);
      observe({ kind: 'frame_dropped', ...who(call), handle });
    },
  };
}

async function putUpload(
  { store, decoders, maxUploadBytes }: FrameParts,
  ref: FrameRef,
  upload: Upload,
  put: PutOptions & { readonly signal: AbortSignal },
): Promise<PutResult> {
  const body = limitBytes(upload, maxUploadBytes);
  const { freeBytes } = await store.usage();
  const done = new AbortController();
  try {
    const signal = AbortSignal.any([put.signal, done.signal]);
    const source = await decoders.decode(upload.format, body, { signal, maxBytes: freeBytes });
    return await store.put(ref, source, put);
  } finally {
    // A put that was refused has not read its source, which holds a decoder until it is told.
    done.abort(new ServiceError('cancelled', 'The upload was given up.'));
  }
}

/** The part of an event that says who asked. */
export function who(call: Call): { readonly requestId: string; readonly tenant: string } {
  return { requestId: call.requestId, tenant: call.tenant };
}

function refOf(call: Call, handle: string): FrameRef {
  return { tenant: call.tenant, handle: parseHandle(handle) };
}

function notFound(handle: string): never {
  throw new ServiceError('handle_not_found', `There is no frame ${quoted(handle)}.`);
}
