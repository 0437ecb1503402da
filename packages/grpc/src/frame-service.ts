import type { ListedFrame } from '@svc/frames';
import { createYield } from '@svc/frames/internal';
import { FrameServiceDefinition, type GetFrameResponse, ListFramesResponse, type Partially } from '@svc/proto';
import type { FrameReading } from '@svc/service';
import type { ServiceImplementation } from 'nice-grpc';
import type { CountedCall } from './call-traffic.ts';
import {
  chunkMessages,
  closingWith,
  countFrom,
  frameInfoMessage,
  handleFrom,
  partFrom,
  targetFrom,
  ttlFrom,
} from './frame-messages.ts';
import type { FrameServiceOptions } from './frame-service-options.ts';
import { createQueryMethods } from './query-methods.ts';
import { withPace } from './upload-pace.ts';
import { uploadBody } from './upload-body.ts';

type Methods = (typeof FrameServiceDefinition)['methods'];

/** The bytes of a message that is encoded already. */
type Encoded = readonly Uint8Array[];

const ENCODED_CODEC = {
  encode: (pieces: Encoded) => ({ finish: () => Buffer.concat(pieces) }),
  decode(): Encoded {
    throw new Error('Only clients decode a list of frames.');
  },
  fromPartial: (pieces: Encoded) => pieces,
};

/** The service as defined by its protocol, except that a list is encoded piece by piece. */
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
