import {
  Client,
  type ClientReadableStream,
  credentials,
  Metadata as RawMetadata,
  type ServiceError as CallError,
} from '@grpc/grpc-js';
import { cancelledError, onAbort, ServiceError, toServiceError } from '@svc/errors';
import { type FrameStream, type TraceContext, traceHeaders } from '@svc/frames';
import { withResolvers } from '@svc/frames/async';
import { decodeArrowHere, joinArrowMessages, schemaFromResult } from '@svc/frames/ipc';
import { Any, flight, flightSql, packFlightSql } from '@svc/proto';
import type { RecordBatch, Schema } from 'apache-arrow';
import {
  type CallOptions,
  type Channel,
  type Client as FlightClient,
  ClientError,
  createChannel,
  createClient,
  Metadata,
} from 'nice-grpc';
import { addressOf, type Cluster, MAX_MESSAGE_BYTES, schedulerFailed } from '../driver.ts';
import { type CallContext, type FailedCall, statusError } from './status-error.ts';

type Flight = FlightClient<typeof flight.FlightServiceDefinition>;

/** The subject and the life of a call. */
export interface CallScope extends Omit<CallContext, 'cluster'> {
  readonly signal: AbortSignal;
  /** Names the statement on the server. */
  readonly tag: string;
  readonly trace?: TraceContext | undefined;
}

/** A connection to a Flight server. Failures of calls are `ServiceError`s. */
export interface Connection {
  /** Runs a call. */
  call<T>(scope: CallScope, run: (client: Flight, options: CallOptions) => Promise<T>): Promise<T>;
  /** Reads the data of a ticket. */
  get(scope: CallScope, ticket: flight.Ticket): MessageReader<flight.FlightData>;
  close(): void;
}

/** Connects to a server when it is first called. */
export function createConnection(cluster: Cluster): Connection {
  const address = addressOf(cluster);
  const channel: Channel = createChannel(address, credentialsOf(cluster), CHANNEL_OPTIONS);
  const client: Flight = createClient(flight.FlightServiceDefinition, channel);
  const raw = new Client(address, credentials.createInsecure(), { channelOverride: channel });

  function headers({ tag, trace }: CallScope): Record<string, string> {
    const bearer = cluster.token === undefined ? {} : { authorization: `Bearer ${cluster.token}` };
    return { ...bearer, 'x-request-id': tag, ...traceHeaders(trace) };
  }

  function failure(failed: FailedCall, { signal, ...about }: CallScope): Error {
    return signal.aborted ? cancelledError(signal.reason) : statusError(failed, { cluster, ...about });
  }

  return {
    async call(scope, run) {
      const { signal } = scope;
      let trailer = Metadata();
      const onTrailer = (received: Metadata): void => void (trailer = received);
      try {
        return await run(client, { signal, metadata: Metadata(headers(scope)), onTrailer });
      } catch (error) {
        if (signal.aborted) throw cancelledError(signal.reason);
        if (!(error instanceof ClientError)) throw error;
        throw failure(
          { code: error.code, details: error.details, trailer: (key) => trailer.get(key)?.toString() },
          scope,
        );
      }
    },

    get(scope, ticket) {
      const metadata = new RawMetadata();
      for (const [key, value] of Object.entries(headers(scope))) metadata.set(key, value);
      const { fullName, methods } = flight.FlightServiceDefinition;
      const call = raw.makeServerStreamRequest(
        `/${fullName}/${methods.doGet.name}`,
        (message: flight.Ticket) => Buffer.from(flight.Ticket.encode(message).finish()),
        (bytes: Buffer) => flight.FlightData.decode(bytes),
        ticket,
        metadata,
      );
      call.once(
        'status',
        onAbort(scope.signal, () => call.cancel()),
      );
      return readMessages(call, (error) => failure(failedCall(error), scope));
    },

    close() {
      channel.close();
    },
  };
}

function credentialsOf({ hasTls, ca }: Cluster) {
  return hasTls ? credentials.createSsl(ca ?? null) : credentials.createInsecure();
}

const CHANNEL_OPTIONS = {
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  // The default of 64 KiB makes the server wait for each of them.
  'grpc-node.flow_control_window': 8 * 1024 * 1024,
  // By default, a lost server is not tried for up to two minutes.
  'grpc.initial_reconnect_backoff_ms': 200,
  'grpc.max_reconnect_backoff_ms': 2000,
};

function failedCall({ code, details, metadata }: CallError): FailedCall {
  return { code, details, trailer: (key) => metadata.get(key)[0]?.toString() };
}

/** The messages of a call, one at a time. */
export interface MessageReader<T> extends AsyncIterable<T> {
  /** Cancels the call, and resolves when it has ended. */
  cancel(): Promise<void>;
}

/**
 * Reads the answer of a call. The next message is requested only when it is asked for: grpc-js alone would buffer sixteen of
 * them, each of up to 128 MiB. `toError` converts a failed status.
 */
export function readMessages<T>(call: ClientReadableStream<T>, toError: (error: CallError) => Error): MessageReader<T> {
  const closed = withResolvers<void>();
  let failure: Error | undefined;
  let isEnded = false;
  let wake = (): void => undefined;

  const startRead = call._read.bind(call);
  let isReadWanted = false;
  call._read = () => {
    isReadWanted = true;
  };
  function requestOne(): void {
    if (!isReadWanted) return;
    isReadWanted = false;
    startRead(1);
  }

  call.on('readable', () => wake());
  call.on('end', () => {
    isEnded = true;
    wake();
  });
  call.on('error', (error: Error) => {
    failure = isCallError(error) ? toError(error) : error;
    wake();
  });
  call.on('status', () => closed.resolve());

  async function next(): Promise<IteratorResult<T, undefined>> {
    for (;;) {
      const message: T | null = call.destroyed ? null : call.read();
      if (message !== null) return { done: false, value: message };
      if (failure !== undefined) throw failure;
      if (isEnded) return { done: true, value: undefined };
      const { promise, resolve } = withResolvers<void>();
      wake = resolve;
      requestOne();
      await promise;
    }
  }

  async function cancel(): Promise<void> {
    call.cancel();
    await closed.promise;
  }

  return {
    cancel,
    [Symbol.asyncIterator]: () => ({
      next,
      async return() {
        await cancel();
        return { done: true, value: undefined };
      },
    }),
  };
}

function isCallError(error: Error): error is CallError {
  return 'code' in error && 'details' in error && 'metadata' in error;
}

/** Opens the data of an endpoint. */
export type OpenEndpoint = (endpoint: flight.FlightEndpoint) => MessageReader<flight.FlightData>;

/**
 * Reads the rows of a FlightInfo: those of each endpoint, in order. Resolves when the columns are known. An answer with fewer
 * rows than announced, and endpoints with other columns than the first, are `scheduler_failed`.
 */
export async function readFlight(info: flight.FlightInfo, open: OpenEndpoint): Promise<FrameStream> {
  const [first, ...rest] = info.endpoint;
  if (first === undefined) return { schema: announcedSchema(info), batches: noBatches() };
  const head = await decodeEndpoint(open(first));
  const { schema } = head;

  async function* batches(): AsyncGenerator<RecordBatch, void, undefined> {
    let rows = 0;
    for await (const batch of reported(head.batches)) {
      rows += batch.numRows;
      yield batch;
    }
    for (const endpoint of rest) {
      const next = await decodeEndpoint(open(endpoint));
      checkSchema(schema, next.schema);
      for await (const batch of reported(next.batches)) {
        rows += batch.numRows;
        yield batch;
      }
    }
    // An unknown number is -1, or nothing.
    if (info.totalRecords > BigInt(rows)) throw tooShort(rows, info.totalRecords);
  }

  return { schema, batches: batches() };
}

/** Reads the schema sent beside the data; undefined if it is empty. */
export function schemaOf(bytes: Uint8Array): Schema | undefined {
  if (bytes.length <= PREFIX_BYTES) return undefined;
  try {
    return schemaFromResult(new Uint8Array(bytes.subarray(isMarked(bytes) ? PREFIX_BYTES : 0)));
  } catch (error) {
    throw unreadable(error);
  }
}

/** The marker and the length before a message. */
const PREFIX_BYTES = 8;

function isMarked(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 4).every((byte) => byte === 0xff);
}

function announcedSchema({ schema }: flight.FlightInfo): Schema {
  const announced = schemaOf(schema);
  if (announced !== undefined) return announced;
  throw schedulerFailed('The scheduler answered without columns and rows.');
}

async function* noBatches(): AsyncGenerator<RecordBatch, void, undefined> {
  // There is none.
}

async function decodeEndpoint(messages: MessageReader<flight.FlightData>): Promise<FrameStream> {
  try {
    return await decodeArrowHere(joinArrowMessages(messages), { maxBytes: MAX_BATCH_BYTES });
  } catch (error) {
    await messages.cancel();
    throw unreadable(error);
  }
}

/** The most bytes of a batch with its dictionaries, decompressed. */
const MAX_BATCH_BYTES = 512 * 1024 * 1024;

async function* reported(batches: AsyncIterable<RecordBatch>): AsyncGenerator<RecordBatch, void, undefined> {
  try {
    yield* batches;
  } catch (error) {
    throw unreadable(error);
  }
}

/** Converts an error of the Arrow reader: its words are about uploads. */
function unreadable(error: unknown): ServiceError {
  if (!(error instanceof ServiceError)) return toServiceError(error);
  if (error.code === 'invalid_data') {
    return schedulerFailed(`The scheduler's answer cannot be read: ${error.message}`, {
      hint: 'Cast columns of unusual types in the SQL.',
      cause: error,
    });
  }
  if (error.code !== 'out_of_memory') return error;
  return new ServiceError(
    'out_of_memory',
    `A batch of the scheduler's answer has more than ${MAX_BATCH_BYTES} bytes.`,
    {
      hint: 'Select fewer columns or shorter values.',
      cause: error,
    },
  );
}

function checkSchema(schema: Schema, other: Schema): void {
  const columnsOf = ({ fields }: Schema): string => fields.map(({ name, type }) => `${name} ${type}`).join(', ');
  if (columnsOf(schema) === columnsOf(other)) return;
  throw schedulerFailed("The parts of the scheduler's answer have different columns.");
}

function tooShort(rows: number, announced: bigint): ServiceError {
  return schedulerFailed(`The scheduler announced ${announced} rows, but sent ${rows}.`);
}

/** Returns the bytes of a Flight SQL message in an Any. */
export function unpack(bytes: Uint8Array): Uint8Array {
  return Any.decode(bytes).value;
}

/** The descriptor of a query. */
export function statementQuery(query: string): flight.FlightDescriptor {
  const command = flightSql.CommandStatementQuery.encode({ query, transactionId: undefined });
  return descriptor('CommandStatementQuery', command.finish());
}

/** The descriptor of a prepared query. */
export function preparedQuery(preparedStatementHandle: Uint8Array): flight.FlightDescriptor {
  const command = flightSql.CommandPreparedStatementQuery.encode({ preparedStatementHandle });
  return descriptor('CommandPreparedStatementQuery', command.finish());
}

function descriptor(name: string, value: Uint8Array): flight.FlightDescriptor {
  const { CMD } = flight.FlightDescriptorDescriptorType;
  return flight.FlightDescriptor.fromPartial({ type: CMD, cmd: packFlightSql(name, value) });
}
