import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type TraceContext, traceHeaders } from '@svc/frames';
import { sparkConnect } from '@svc/proto';
import { ChannelCredentials, type Client, ClientError, createChannel, createClient, Metadata, Status } from 'nice-grpc';
import { addressOf, type Cluster, MAX_MESSAGE_BYTES } from '../driver.ts';

/** The calls of a Spark Connect server. */
export type SparkClient = Client<typeof sparkConnect.SparkConnectServiceDefinition>;

/** A connection to a Spark Connect server. */
interface SparkConnection {
  /** Returns the calls of a statement. They pass its trace on. */
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
  // A server of gRPC for Java closes connections with more than a ping in five minutes.
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

/** What every request of a session has. */
export interface SessionIdentity {
  readonly sessionId: string;
  readonly userContext: sparkConnect.UserContext;
  readonly clientType: string;
}

/** A session on the server. */
export interface OpenedSession {
  readonly session: SessionIdentity;
  /** The server's own id; empty if it gave none. It changes if the server loses the session and with it our settings. */
  readonly serverSideId: string;
}

/**
 * The settings of every session: no files as tables in the SQL, and the same meaning of texts and times whatever the
 * cluster's defaults are.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  'spark.sql.runSQLOnFiles': 'false',
  'spark.sql.session.timeZone': 'UTC',
  'spark.sql.ansi.doubleQuotedIdentifiers': 'false',
  'spark.sql.parser.escapedStringLiterals': 'false',
  'spark.sql.parser.quotedRegexColumnNames': 'false',
  'spark.sql.caseSensitive': 'false',
  'spark.sql.legacy.ctePrecedencePolicy': 'CORRECTED',
  // Otherwise the text of the SQL would be changed after the fence has read it.
  'spark.sql.variable.substitute': 'false',
  // A batch ends at 2.8 MB. The default of 10 000 rows makes small ones of narrow rows, and each batch has its price.
  'spark.sql.execution.arrow.maxRecordsPerBatch': '1000000',
};

/** How long a server may take to answer the first request of a session. */
const OPEN_TIMEOUT_MS = 60_000;

/** Who opens a session. */
export interface ClientIdentity {
  readonly user: string;
  /** The name of the client in the server's logs. */
  readonly clientType: string;
}

/** Options of `openSession`. */
interface OpenOptions extends ClientIdentity {
  /** Settings besides those of every session. Default: none. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Opens a session with our settings. */
export async function openSession(
  client: SparkClient,
  { user, clientType, settings = {} }: OpenOptions,
  signal: AbortSignal,
): Promise<OpenedSession> {
  const userContext = { userId: user, userName: user };
  const session = { sessionId: randomUUID(), userContext, clientType };
  const pairs = Object.entries({ ...SETTINGS, ...settings }).map(([key, value]) => ({ key, value }));
  const request = { ...session, operation: { set: { pairs } } };
  return opening(client, session, async () => {
    const { serverSideSessionId } = await retrying((options) => client.config(request, options), openLimit(signal));
    return serverSideSessionId;
  });
}

/** Opens a session with the settings of another one. The server fails if it has lost that one. */
export async function cloneSession(
  client: SparkClient,
  { session: source, serverSideId }: OpenedSession,
  signal: AbortSignal,
): Promise<OpenedSession> {
  const newSessionId = randomUUID();
  const request = { ...source, newSessionId, clientObservedServerSideSessionId: serverSideId };
  return opening(client, { ...source, sessionId: newSessionId }, async () => {
    const cloned = await retrying((options) => client.cloneSession(request, options), openLimit(signal));
    return cloned.newServerSideSessionId;
  });
}

/** Opens a session with a call for the server's id of it. The server may have it even if the call fails. */
async function opening(
  client: SparkClient,
  session: SessionIdentity,
  open: () => Promise<string>,
): Promise<OpenedSession> {
  try {
    return { session, serverSideId: await open() };
  } catch (error) {
    void releaseSession(client, session);
    throw error;
  }
}

function openLimit(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(OPEN_TIMEOUT_MS)]);
}

/** How long the calls to end a statement may take. */
const INTERRUPT_TIMEOUT_MS = 120_000;
const RELEASE_TIMEOUT_MS = 10_000;

/** Stops an operation. Resolves when the server has stopped it, or cannot be asked. */
export async function interrupt(client: SparkClient, session: SessionIdentity, operationId: string): Promise<void> {
  const request = { ...session, interruptType: INTERRUPT_BY_ID, operationId };
  await ignoringFailure(
    retrying((options) => client.interrupt(request, options), AbortSignal.timeout(INTERRUPT_TIMEOUT_MS)),
  );
}

/** `InterruptRequest.InterruptType.INTERRUPT_TYPE_OPERATION_ID`. */
const INTERRUPT_BY_ID = 3;

/** Frees the responses up to one of them. */
export async function releaseUntil(
  client: SparkClient,
  session: SessionIdentity,
  operationId: string,
  responseId: string,
): Promise<void> {
  const request = { ...session, operationId, releaseUntil: { responseId } };
  await ignoringFailure(client.releaseExecute(request, { signal: AbortSignal.timeout(RELEASE_TIMEOUT_MS) }));
}

/** Frees an operation and its session. An unreachable server frees them after a while by itself. */
export async function releaseAll(client: SparkClient, session: SessionIdentity, operationId: string): Promise<void> {
  const signal = AbortSignal.timeout(RELEASE_TIMEOUT_MS);
  await ignoringFailure(client.releaseExecute({ ...session, operationId, releaseAll: {} }, { signal }));
  await releaseSession(client, session);
}

/** Ends a session. */
export async function releaseSession(client: SparkClient, session: SessionIdentity): Promise<void> {
  await ignoringFailure(client.releaseSession(session, { signal: AbortSignal.timeout(RELEASE_TIMEOUT_MS) }));
}

async function ignoringFailure(work: Promise<unknown>): Promise<void> {
  await work.catch(() => undefined);
}

/** How often a call is tried again after its connection broke, without any progress in between. */
export const MAX_RETRIES = 5;

const FIRST_DELAY_MS = 50;

/** Waits before the next try; the first is 0. */
export async function backoff(retry: number, signal: AbortSignal): Promise<void> {
  await delay(FIRST_DELAY_MS * 2 ** retry, undefined, { signal });
}

/** True if a call failed because its connection broke: the server may not have seen it. */
export function isDisconnection(error: unknown): boolean {
  if (!(error instanceof ClientError)) return false;
  return error.code === Status.UNAVAILABLE || error.details.startsWith('Received RST_STREAM');
}

/** Calls again after a broken connection: only for repeatable calls. */
async function retrying<Response>(
  call: (options: { readonly signal: AbortSignal }) => Promise<Response>,
  signal: AbortSignal,
): Promise<Response> {
  for (let retry = 0; ; retry++) {
    try {
      return await call({ signal });
    } catch (error) {
      if (!isDisconnection(error) || retry >= MAX_RETRIES) throw error;
    }
    await backoff(retry, signal);
  }
}
