import { nearestName, ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { type Call, type FrameFileFormat, type FrameRef, isHandle, type OpenFrame, type Store } from '@svc/frames';
import type { Schema } from 'apache-arrow';
import { eventSource } from './event-source.ts';
import type { Observer } from './events.ts';
import { isAllowed } from './required-permissions.ts';
import type { FileReading, OperationName, Service } from './service.ts';

/** Dependencies of the operations that read frames. */
export interface ReadParts {
  readonly store: Store;
  readonly observe: Observer;
  /** Throws if the call is cancelled, the caller lacks the permission, or the service is stopping. */
  readonly begin: (call: Call, operation: OperationName) => void;
}

type ReadOperations = Pick<Service, 'findFile' | 'frameFileFormats' | 'openFile' | 'readFrame'>;

/** Creates the operations that read the rows of a frame. */
export function createReadOperations({ store, observe, begin }: ReadParts): ReadOperations {
  async function open(call: Call, handle: string, operation: OperationName): Promise<OpenFrame> {
    begin(call, operation);
    // For a reader, a text that is not a valid handle is a frame that does not exist.
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

/** Throws the error of a frame that does not exist. */
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

/** The most handles that are compared: clients that wait for a frame ask for it again and again. */
const MAX_COMPARED = 200;
/** The most pairs of characters that are compared, about: long handles are compared with fewer others. */
const MAX_PAIRS = 300_000;

/** Any two shorter handles are close to each other. */
const MIN_LENGTH = 3;

/** Returns the error of a frame that does not exist. A caller who may list handles gets the nearest one as a hint. */
export async function missingFrame(store: Store, call: Call, handle: string): Promise<ServiceError> {
  const nearest = isAllowed(call, 'listFrames') ? await nearestHandle(store, call.tenant, handle) : undefined;
  return noFrame(handle, nearest && `Did you mean ${quoted(nearest)}? GET /frames lists all handles.`);
}

async function nearestHandle(store: Store, tenant: string, handle: string): Promise<string | undefined> {
  if (handle.length < MIN_LENGTH) return undefined;
  // The error is that of the frame, even if the handles cannot be listed.
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
