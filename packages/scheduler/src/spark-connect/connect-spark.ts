import { type TraceContext, traceHeaders } from '@svc/frames';
import { sparkConnect } from '@svc/proto';
import { ChannelCredentials, type Client, createChannel, createClient, Metadata } from 'nice-grpc';
import { addressOf, type Cluster, MAX_MESSAGE_BYTES } from '../cluster.ts';

/** The calls of a Spark Connect server. */
export type SparkClient = Client<typeof sparkConnect.SparkConnectServiceDefinition>;

/** A connection to a Spark Connect server. */
export interface SparkConnection {
  /** Returns the calls of a statement, which pass its trace on. */
  clientFor(trace: TraceContext | undefined): SparkClient;
  close(): void;
}

const OPTIONS = {
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  // Enough for a fast network, and little enough for a slow reader to stop the server soon.
  'grpc-node.flow_control_window': 4 * 2 ** 20,
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.min_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 1000,
  // A server of gRPC for Java closes connections that ping more often than every five minutes.
  'grpc.keepalive_time_ms': 330_000,
  'grpc.keepalive_timeout_ms': 20_000,
};

/** Opens a connection. It connects with the first call, and again when it has broken. */
export function connectSpark(cluster: Cluster): SparkConnection {
  const { hasTls, token, ca } = cluster;
  const credentials = hasTls ? ChannelCredentials.createSsl(ca) : ChannelCredentials.createInsecure();
  const channel = createChannel(addressOf(cluster), credentials, OPTIONS);
  const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const create = (headers: Readonly<Record<string, string>>): SparkClient =>
    createClient(sparkConnect.SparkConnectServiceDefinition, channel, { '*': { metadata: Metadata(headers) } });
  const client = create(bearer);
  return {
    clientFor: (trace) => (trace === undefined ? client : create({ ...bearer, ...traceHeaders(trace) })),
    close: () => channel.close(),
  };
}
