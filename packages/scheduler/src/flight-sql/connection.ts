import { Client, credentials, Metadata as RawMetadata, type ServiceError as CallError } from '@grpc/grpc-js';
import { cancelledError, onAbort } from '@svc/errors';
import { type TraceContext, traceHeaders } from '@svc/frames';
import { flight } from '@svc/proto';
import {
  type CallOptions,
  type Channel,
  type Client as FlightClient,
  ClientError,
  createChannel,
  createClient,
  Metadata,
} from 'nice-grpc';
import { addressOf, type Cluster, MAX_MESSAGE_BYTES } from '../cluster.ts';
import { type MessageReader, readMessages } from './read-messages.ts';
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
  // By default a server that was away is not tried for up to two minutes.
  'grpc.initial_reconnect_backoff_ms': 200,
  'grpc.max_reconnect_backoff_ms': 2000,
};

function failedCall({ code, details, metadata }: CallError): FailedCall {
  return { code, details, trailer: (key) => metadata.get(key)[0]?.toString() };
}
