import { onAbort, ServiceError } from '@svc/errors';
import type { Decoders, ListOptions } from '@svc/frames';
import { createYield } from '@svc/frames/async';
import { type ArrowMessage, encodeArrowMessages } from '@svc/frames/ipc';
import { flight } from '@svc/proto';
import type { EngineName, Service } from '@svc/service';
import type { CallContext, ServiceImplementation } from 'nice-grpc';
import { AUTHORIZATION_KEY, type CountedCall, countRows } from '../call/calls.ts';
import { encodeFlightData, FlightMessage } from '../call/grpc-js-call.ts';
import { type UploadPace, withIdleTimeout, withPace } from '../call/upload-pace.ts';
import { isLeftOut } from '../flight-sql/metadata.ts';
import { createPreparedStatements } from '../flight-sql/prepared-statements.ts';
import { createFlightActions } from './flight-actions.ts';
import { createFlightPuts, type FlightPut, withAcknowledgements } from './flight-puts.ts';
import { createFlightReads } from './flight-reads.ts';
import { createHandshake, type EngineChoice, engineChoice } from './session.ts';
import { createPendingQueries, createRunningFlights, createTickets } from './tickets.ts';

/** Options of the Flight service. */
export interface FlightServiceOptions {
  readonly service: Service;
  /** Returns the current call. */
  readonly current: () => CountedCall;
  /** How slowly clients may send their uploads. */
  readonly pace: UploadPace;
  /** Decodes the parameters of statements. */
  readonly decoders: Decoders;
  /** The engine of statements without one. */
  readonly defaultEngine: EngineName;
}

type Definition = typeof flight.FlightServiceDefinition;
type DoGet = Definition['methods']['doGet'];

/** The encoder of the messages of DoGet. */
interface FlightMessageCodec {
  encode(message: FlightMessage): { finish(): Uint8Array };
  decode(input: Uint8Array): FlightMessage;
  fromPartial(message: FlightMessage): FlightMessage;
}

const MESSAGE_CODEC: FlightMessageCodec = {
  encode: ({ arrow }) => ({ finish: () => encodeFlightData(arrow) }),
  decode() {
    throw new Error('Only clients decode the messages of DoGet.');
  },
  fromPartial: (message) => message,
};

/** The Flight service of the protocol, except for DoGet: its Arrow messages are encoded later. */
export const FlightDefinition: Omit<Definition, 'methods'> & {
  readonly methods: Omit<Definition['methods'], 'doGet'> & {
    readonly doGet: Omit<DoGet, 'responseType'> & { readonly responseType: FlightMessageCodec };
  };
} = {
  ...flight.FlightServiceDefinition,
  methods: {
    ...flight.FlightServiceDefinition.methods,
    doGet: { ...flight.FlightServiceDefinition.methods.doGet, responseType: MESSAGE_CODEC },
  },
};

/** Implements `arrow.flight.protocol.FlightService`. */
export function createFlightService(options: FlightServiceOptions): ServiceImplementation<typeof FlightDefinition> {
  const { service, current, pace, decoders, defaultEngine } = options;
  const choiceOf = (context: CallContext): EngineChoice => engineChoice(context, defaultEngine);
  const handshake = createHandshake(service);
  const statements = createPreparedStatements();
  const running = createRunningFlights();
  const pending = createPendingQueries({ service });
  const reads = createFlightReads({ service, tickets: createTickets(), pending, statements });
  const put = createFlightPuts({ service, statements, decoders });
  const actions = createFlightActions({ service, statements, reads, running, pending });

  return {
    async *handshake(request, context) {
      const call = current();
      const sent = handshake.tokenOf(context.metadata.get(AUTHORIZATION_KEY));
      if (sent !== undefined) context.header.set(AUTHORIZATION_KEY, `Bearer ${sent}`);
      for await (const { payload } of withIdleTimeout(request, pace.idleTimeoutMs)) {
        const token = sent ?? (await handshake.check(call, payload));
        context.header.set(AUTHORIZATION_KEY, `Bearer ${token}`);
        yield { protocolVersion: 0n, payload: Buffer.from(token) };
      }
    },

    async *listFlights({ expression }) {
      const call = current();
      const turn = createYield();
      for (const frame of await service.listFrames(call, prefixFrom(expression))) {
        await turn();
        const path = [frame.handle];
        const descriptor = { type: flight.FlightDescriptorDescriptorType.PATH, path, cmd: new Uint8Array(0) };
        try {
          yield await reads.info(call, descriptor, defaultEngine);
        } catch (error) {
          if (!isLeftOut(frame, error)) throw error;
        }
      }
    },

    getFlightInfo: (descriptor, context) => reads.info(current(), descriptor, choiceOf(context).engine),

    async pollFlightInfo(descriptor, context) {
      return { info: await reads.info(current(), descriptor, choiceOf(context).engine), progress: 1 };
    },

    async getSchema(descriptor, context) {
      return { schema: await reads.schema(current(), descriptor, choiceOf(context).engine) };
    },

    async *doGet({ ticket }) {
      const { call, ...read } = running.begin(current(), ticket);
      try {
        const opened = await reads.open(call, ticket);
        try {
          yield* pacedMessages(encodeArrowMessages(countRows(call, opened.stream)), call.signal, opened.onBytes);
        } finally {
          opened.close();
        }
      } finally {
        read.end();
      }
    },

    async *doPut(request, context) {
      yield* putResults(put, current(), withPace(request, pace, sizeOf), { ...choiceOf(context), ...pace });
    },

    // eslint-disable-next-line require-yield -- It always throws.
    async *doExchange() {
      throw new ServiceError('method_not_allowed', 'This server does not support DoExchange.', {
        hint: 'Write with DoPut, read with DoGet.',
      });
    },

    async *doAction(action, context) {
      const body = await actions.run(current(), action, choiceOf(context));
      if (body !== undefined) yield { body };
    },

    async *listActions() {
      yield* actions.list();
    },
  };
}

/** Runs an upload, and yields its results. */
async function* putResults(
  put: FlightPut,
  call: CountedCall,
  messages: AsyncIterator<flight.FlightData, void, undefined>,
  { engine, idleTimeoutMs }: Pick<EngineChoice, 'engine'> & Pick<UploadPace, 'idleTimeoutMs'>,
): AsyncGenerator<{ readonly appMetadata: Uint8Array }, void, undefined> {
  const results = withAcknowledgements((acknowledge) => put(call, messages, { engine, acknowledge }), idleTimeoutMs);
  for await (const appMetadata of results) yield { appMetadata };
}

function prefixFrom(expression: Uint8Array): ListOptions {
  const prefix = Buffer.from(expression).toString();
  return prefix === '' ? {} : { prefix };
}

function sizeOf({ dataHeader, dataBody, appMetadata }: flight.FlightData): number {
  return dataHeader.length + dataBody.length + appMetadata.length;
}

/**
 * Yields messages to send, at most four of them in flight. grpc-js alone would buffer sixteen, which is a lot of memory for
 * messages of a megabyte; with fewer than four the client would wait. `onBytes` is called with their lengths.
 */
async function* pacedMessages(
  messages: AsyncIterable<ArrowMessage>,
  signal: AbortSignal,
  onBytes: (bytes: number) => void = () => {},
): AsyncGenerator<FlightMessage, void, undefined> {
  const waiting: Promise<void>[] = [];
  for await (const message of messages) {
    signal.throwIfAborted();
    onBytes(message.header.byteLength + message.bodyLength);
    const { promise, resolve } = sentOrAborted(signal);
    yield new FlightMessage(message, resolve);
    waiting.push(promise);
    if (waiting.length >= MAX_WAITING) await waiting.shift();
  }
}

const MAX_WAITING = 4;

function sentOrAborted(signal: AbortSignal): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let settle = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    const stopListening = onAbort(signal, resolve);
    settle = () => {
      stopListening();
      resolve();
    };
  });
  return { promise, resolve: settle };
}
