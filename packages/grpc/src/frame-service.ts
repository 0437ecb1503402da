import { onAbort, ServiceError } from '@svc/errors';
import { type Call, encodeArrowStream, type FrameStream, type ListedFrame } from '@svc/frames';
import { createYield } from '@svc/frames/async';
import {
  FrameServiceDefinition,
  type GetFrameResponse,
  ListFramesResponse,
  type Partially,
  type PutFrameRequest,
} from '@svc/proto';
import type { FrameReading, Service } from '@svc/service';
import type { ServiceImplementation } from 'nice-grpc';
import { type CountedCall, countRows } from './call/calls.ts';
import { type UploadPace, withPace } from './call/upload-pace.ts';
import {
  chunkFrom,
  countFrom,
  engineFrom,
  frameInfoMessage,
  handleFrom,
  keepEngineFrom,
  partFrom,
  sqlFrom,
  sqlValueFrom,
  targetFrom,
  ttlFrom,
} from './messages.ts';

type Methods = (typeof FrameServiceDefinition)['methods'];

/** The bytes of an encoded message. */
type Encoded = readonly Uint8Array[];

const ENCODED_CODEC = {
  encode: (pieces: Encoded) => ({ finish: () => Buffer.concat(pieces) }),
  decode(): Encoded {
    throw new Error('Only clients decode a list of frames.');
  },
  fromPartial: (pieces: Encoded) => pieces,
};

/** The service of the protocol, except for lists: they are encoded piece by piece. */
export const FrameDefinition: Omit<typeof FrameServiceDefinition, 'methods'> & {
  readonly methods: Omit<Methods, 'listFrames'> & {
    readonly listFrames: Omit<Methods['listFrames'], 'responseType'> & { readonly responseType: typeof ENCODED_CODEC };
  };
} = {
  ...FrameServiceDefinition,
  methods: {
    ...FrameServiceDefinition.methods,
    listFrames: { ...FrameServiceDefinition.methods.listFrames, responseType: ENCODED_CODEC },
  },
};

/** Encodes a list. Messages one after the other are one message with the frames of all. */
async function encodeList(frames: readonly ListedFrame[]): Promise<Encoded> {
  const pause = createYield();
  const pieces: Uint8Array[] = [];
  for (const frame of frames) {
    await pause();
    pieces.push(ListFramesResponse.encode({ frames: [frameInfoMessage(frame)] }).finish());
  }
  return pieces;
}

/** Implements `svc.frames.v1.FrameService`. */
export function createFrameService({
  service,
  current,
  pace,
}: FrameServiceOptions): ServiceImplementation<typeof FrameDefinition> {
  return {
    async putFrame(request) {
      const messages = withPace(request, pace, ({ chunk }) => chunk?.length ?? 0);
      const first = await messages.next();
      const target = targetFrom(first.done === true ? undefined : first.value);
      const ttl = target.ttlSeconds;
      const call = current();
      call.traffic.hasRows = true;
      const { info, created } = await service.putFrame(
        call,
        target.handle,
        { format: 'arrow', body: uploadBody(messages) },
        {
          ...(target.ifAbsent ? { ifAbsent: true } : {}),
          ...(target.ifVersion === '' ? {} : { ifVersion: target.ifVersion }),
          ...(ttl === undefined ? {} : { ttlSeconds: ttlFrom(ttl) }),
        },
      );
      return { frame: frameInfoMessage(info), created };
    },

    async *getFrame(request) {
      const call = current();
      const reading = await service.readFrame(call, handleFrom(request.handle), partFrom(request));
      yield* closingWith(call, reading, readingMessages(call, reading));
    },

    async listFrames({ prefix, after, limit }) {
      const frames = await service.listFrames(current(), {
        ...(prefix === '' ? {} : { prefix }),
        ...(after === '' ? {} : { after }),
        ...(limit === undefined ? {} : { limit: countFrom('limit', limit) }),
      });
      return encodeList(frames);
    },

    async describeFrame({ handle }) {
      return { frame: frameInfoMessage(await service.describeFrame(current(), handleFrom(handle))) };
    },

    async dropFrame({ handle }) {
      await service.dropFrame(current(), handleFrom(handle));
      return {};
    },

    async extendFrame({ handle, ttlSeconds }) {
      const ttl = ttlSeconds === undefined ? null : ttlFrom(ttlSeconds);
      return { frame: frameInfoMessage(await service.expireFrame(current(), handleFrom(handle), ttl)) };
    },

    ...createQueryMethods({ service, current }),
  };
}

/** Yields the metadata of a frame, then its rows. */
async function* readingMessages(
  call: CountedCall,
  { info, stream }: FrameReading,
): AsyncGenerator<Partially<GetFrameResponse>> {
  yield { frame: frameInfoMessage(info) };
  yield* chunkMessages(call, stream);
}

type QueryMethods = Pick<ServiceImplementation<typeof FrameServiceDefinition>, 'keepQuery' | 'query'>;

/** Implements the SQL methods of the frame service. */
function createQueryMethods({ service, current }: Pick<FrameServiceOptions, 'current' | 'service'>): QueryMethods {
  return {
    async *query(request) {
      const call = current();
      const engine = engineFrom(request.engine);
      const params = request.params.map(sqlValueFrom);
      const result = await service.query(call, sqlFrom(request.sql), {
        ...(engine && { engine }),
        params,
        ...partFrom(request),
      });
      const onBytes = (bytes: number): void => result.sent(bytes);
      yield* closingWith(call, result, chunkMessages(call, result, onBytes));
    },

    async keepQuery({ sql, params, engine, handle, ifAbsent, ifVersion, ttlSeconds }) {
      const target = keepEngineFrom(engine);
      const { info, created } = await service.keepQuery(current(), sqlFrom(sql), {
        ...(target && { engine: target }),
        params: params.map(sqlValueFrom),
        ...(handle === '' ? {} : { handle }),
        ...(ifAbsent ? { ifAbsent } : {}),
        ...(ifVersion === '' ? {} : { ifVersion }),
        ...(ttlSeconds === undefined ? {} : { ttlSeconds: ttlFrom(ttlSeconds) }),
      });
      return { frame: frameInfoMessage(info), created };
    },
  };
}

/**
 * Yields the data of an upload. Holds back the last chunk until the client half-closes the call, so that the data does not
 * look complete before. Many clients also half-close a call when they cancel it: data without an Arrow end marker is
 * refused.
 */
export async function* uploadBody(
  messages: AsyncIterator<PutFrameRequest>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let held: Uint8Array = new Uint8Array(0);
  let tail: Buffer = Buffer.alloc(0);
  for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
    const chunk = chunkFrom(next.value);
    if (chunk.length === 0) continue;
    if (held.length > 0) yield held;
    held = chunk;
    tail = Buffer.concat([tail, chunk.subarray(-END_OF_STREAM.length)]).subarray(-END_OF_STREAM.length);
  }
  if (held.length > 0) yield held;
  if (!tail.equals(END_OF_STREAM) && !tail.subarray(-END_OF_FILE.length).equals(END_OF_FILE)) {
    throw new ServiceError('invalid_data', "The upload stops without Arrow's end-of-stream marker.", {
      hint: 'Close the Arrow writer, and send everything that it wrote.',
    });
  }
}

const END_OF_STREAM = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
const END_OF_FILE = Buffer.from('ARROW1');

/** Options of `createFrameService`. */
interface FrameServiceOptions {
  readonly service: Service;
  /** Returns the current call. */
  readonly current: () => CountedCall;
  /** How slowly clients may send their uploads. */
  readonly pace: UploadPace;
}

/**
 * Encodes a stream as messages with chunks, until the call is cancelled, and counts its rows. `onBytes` is called with the
 * lengths of the chunks.
 */
async function* chunkMessages(
  call: CountedCall,
  stream: FrameStream,
  onBytes: (bytes: number) => void = () => {},
): AsyncGenerator<{ readonly chunk: Uint8Array }> {
  for await (const chunk of encodeArrowStream(countRows(call, stream))) {
    call.signal.throwIfAborted();
    onBytes(chunk.byteLength);
    yield { chunk };
  }
}

/**
 * Passes messages through, and closes their source at the end or when the call is cancelled, even if the client does not
 * read on.
 */
async function* closingWith<T>(
  { signal }: Call,
  source: { close(): void },
  messages: AsyncIterable<T>,
): AsyncGenerator<T> {
  let isClosed = false;
  const close = (): void => {
    if (!isClosed) source.close();
    isClosed = true;
  };
  const stopListening = onAbort(signal, close);
  try {
    yield* messages;
  } finally {
    stopListening();
    close();
  }
}
