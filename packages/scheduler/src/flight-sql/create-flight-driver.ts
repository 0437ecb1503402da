import { cancelledError, onAbort, ServiceError } from '@svc/errors';
import { orAborted } from '@svc/errors/internal';
import type { flight } from '@svc/proto';
import type { RecordBatch, Schema } from 'apache-arrow';
import {
  type BoundStatement,
  type Cluster,
  type Driver,
  type DriverResult,
  rememberSuccess,
  schedulerFailed,
  waitForStops,
} from '../driver.ts';
import { bindFrames, type BoundSql, findDialect, inParentheses, parseReadFile, withoutRows } from './bind-frames.ts';
import {
  type CancelFlight,
  createCancelFlight,
  type PreparedStatement,
  prepareStatement,
} from './prepared-statement.ts';
import {
  type CallScope,
  type Connection,
  createConnection,
  type MessageReader,
  type OpenEndpoint,
  readFlight,
  schemaOf,
  statementQuery,
} from './connection.ts';
import { isUnimplemented } from './status-error.ts';

/** Options of `createFlightDriver`. */
export interface FlightDriverOptions {
  /**
   * How the engine reads a Parquet file, with `{uri}` in quotes: `read_parquet('{uri}')`, `` parquet.`{uri}` ``. Default: frames
   * are not bound, and the tables of a statement are those of the engine.
   */
  readonly readFile?: string | undefined;
}

/** Creates a driver for an engine of Flight SQL. It connects with the first statement. */
export function createFlightDriver(cluster: Cluster, { readFile: template }: FlightDriverOptions = {}): Driver {
  const readFile = template === undefined ? undefined : parseReadFile(template);
  const connections = new Map<string, Connection>();
  const connection = connectionTo(cluster);
  const cancelFlight = createCancelFlight(connection);
  const running: RunningStatements = new Set();
  const parts = { connection, cancelFlight, openEndpoint, running };
  const dialect = rememberSuccess(() => findDialect(probe));

  function connectionTo(server: Cluster): Connection {
    const key = `${server.hasTls}:${server.port}`;
    const known = connections.get(key) ?? createConnection(server);
    connections.set(key, known);
    return known;
  }

  function openEndpoint(scope: CallScope, endpoint: flight.FlightEndpoint): MessageReader<flight.FlightData> {
    const { ticket = { ticket: new Uint8Array(0) } } = endpoint;
    return connectionTo(serverOf(endpoint, cluster)).get(scope, ticket);
  }

  async function probe(sql: string): Promise<void> {
    const statement = { sql, params: [], parameters: 0, frames: [], tenant: '', tag: 'svc-probe' };
    const bound = { text: sql, placeIn: () => undefined };
    const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
    const { batches } = await runStatement(parts, { statement, bound, signal });
    for await (const _ of batches);
  }

  async function bind({ sql, frames }: BoundStatement, signal: AbortSignal): Promise<BoundSql> {
    if (readFile === undefined || frames.length === 0) return inParentheses(sql);
    return bindFrames(sql, frames, { readFile, dialect: await orAborted(dialect.get(), signal) });
  }

  return {
    query: async (statement, signal) =>
      runStatement(parts, { statement, bound: await bind(statement, signal), signal }),

    async describe(statement, signal) {
      const bound = await bind(statement, signal);
      const { sql, parameters, tag, trace } = statement;
      const scope = { signal, tag, trace, sql, bound, isPlanning: true };
      const known = await (parameters > 0
        ? preparedSchema(parts, scope, bound.text)
        : querySchema(parts, scope, bound.text));
      if (known !== undefined) return known;
      const withNulls = { ...statement, params: Array.from({ length: parameters }, () => null) };
      const result = await runStatement(parts, {
        statement: withNulls,
        bound: withoutRows(bound),
        signal,
      });
      await result.stop();
      return result.schema;
    },

    async close() {
      await waitForStops([...running].map((stop) => stop()));
      for (const other of connections.values()) other.close();
    },
  };
}

const PROBE_TIMEOUT_MS = 30_000;

/** The scheme for data on the connection of its ticket. */
const REUSE = 'arrow-flight-reuse-connection:';

/**
 * Returns the server that has the data of an endpoint: the cluster itself, or another port of its host. Credentials are
 * not sent to other hosts, or without TLS if the cluster has it.
 */
export function serverOf({ location }: flight.FlightEndpoint, cluster: Cluster): Cluster {
  if (location.length === 0) return cluster;
  for (const { uri } of location) {
    const server = serverAt(uri, cluster);
    if (server !== undefined) return server;
  }
  throw schedulerFailed('The scheduler keeps the rows on another host, and they are read only from its own.', {
    hint: 'Let the scheduler answer itself: many have a setting for a proxy or for results of the coordinator.',
  });
}

function serverAt(uri: string, cluster: Cluster): Cluster | undefined {
  const [, scheme = '', host = '', port] =
    /^([a-z0-9+-]+:)\/\/(\[[^\]]*\]|[^:/?]*)(?::(\d{1,5}))?(?:[/?]|$)/i.exec(uri) ?? [];
  if (scheme.toLowerCase() === REUSE) return cluster;
  const hasTls = TLS[scheme.toLowerCase()];
  const isSameHost = host.replace(/^\[|\]$/g, '').toLowerCase() === cluster.host.toLowerCase();
  if (hasTls === undefined || !isSameHost || port === undefined) return undefined;
  if (cluster.hasTls && !hasTls) return undefined;
  return { ...cluster, hasTls, port: Number(port) };
}

const TLS: Readonly<Record<string, boolean | undefined>> = { 'grpc:': false, 'grpc+tcp:': false, 'grpc+tls:': true };

/** Returns the columns of a statement with parameters; undefined if the server does not know them before it runs. */
async function preparedSchema(
  { connection }: StatementParts,
  scope: CallScope,
  text: string,
): Promise<Schema | undefined> {
  const prepared = await prepareStatement(connection, scope, text);
  // The server closes it with its life, if it does not now.
  await prepared.close(scope).catch(() => undefined);
  return prepared.schema;
}

/** Returns the columns of a statement without parameters; undefined if the server does not announce them. */
async function querySchema(
  { connection, cancelFlight }: StatementParts,
  scope: CallScope,
  text: string,
): Promise<Schema | undefined> {
  const descriptor = statementQuery(text);
  try {
    const { schema } = await connection.call(scope, (client, options) => client.getSchema(descriptor, options));
    return schemaOf(schema);
  } catch (error) {
    if (!isUnimplemented(error)) throw error;
  }
  const info = await connection.call(scope, (client, options) => client.getFlightInfo(descriptor, options));
  // Some engines run the statement already.
  const late = { ...scope, signal: AbortSignal.timeout(CANCEL_TIMEOUT_MS) };
  await cancelFlight(late, info).catch(() => false);
  return schemaOf(info.schema);
}

const CANCEL_TIMEOUT_MS = 10_000;

/** What a statement needs to run. */
interface StatementParts {
  readonly connection: Connection;
  readonly cancelFlight: CancelFlight;
  /** Opens the data of an endpoint, on its server. */
  readonly openEndpoint: (scope: CallScope, endpoint: flight.FlightEndpoint) => MessageReader<flight.FlightData>;
  readonly running: RunningStatements;
}

/** Ends what runs: an entry for each statement. */
type RunningStatements = Set<() => Promise<void>>;

/** A statement to run. */
interface RunOptions {
  readonly statement: BoundStatement;
  readonly bound: BoundSql;
  readonly signal: AbortSignal;
}

/** How long the server may take to confirm the end of a statement. */
const STOP_TIMEOUT_MS = 10_000;

/** Runs a statement, and resolves when its columns are known. */
async function runStatement(
  { connection, cancelFlight, openEndpoint, running }: StatementParts,
  { statement, bound, signal }: RunOptions,
): Promise<DriverResult> {
  const { sql, params, tag, trace } = statement;
  const controller = new AbortController();
  const scope: CallScope = { signal: controller.signal, tag, trace, sql, bound };
  let prepared: PreparedStatement | undefined;
  let info: flight.FlightInfo | undefined;
  let reader: MessageReader<flight.FlightData> | undefined;
  let ending: Promise<void> | undefined;
  let stopListening = (): void => undefined;

  /** Releases what the server holds for the statement; a reason stops it before. */
  function end(reason?: ServiceError): Promise<void> {
    ending ??= finish(reason);
    return ending;
  }

  async function finish(reason: ServiceError | undefined): Promise<void> {
    stopListening();
    const late: CallScope = { signal: AbortSignal.timeout(STOP_TIMEOUT_MS), tag, trace };
    const cancelled = reason !== undefined && info !== undefined ? cancelFlight(late, info) : undefined;
    controller.abort(reason);
    // The server may be gone: then nothing runs there.
    await Promise.allSettled([cancelled, reader?.cancel()]);
    await prepared?.close(late).catch(() => undefined);
    running.delete(stop);
  }

  const stop = (): Promise<void> => end(STOPPED);
  running.add(stop);
  stopListening = onAbort(signal, () => void end(cancelledError(signal.reason)));

  const open: OpenEndpoint = (endpoint) => {
    reader = openEndpoint(scope, endpoint);
    return reader;
  };

  async function* batches(rows: AsyncIterable<RecordBatch>): AsyncGenerator<RecordBatch, void, undefined> {
    let reason: ServiceError | undefined = STOPPED;
    try {
      yield* rows;
      reason = undefined;
    } finally {
      // Not awaited: the rows are complete, and `stop` waits for it.
      void end(reason);
    }
  }

  try {
    controller.signal.throwIfAborted();
    if (params.length > 0) prepared = await prepareStatement(connection, { ...scope, isPlanning: true }, bound.text);
    const descriptor = (await prepared?.bind(scope, params)) ?? statementQuery(bound.text);
    const planning = { ...scope, isPlanning: true };
    info = await connection.call(planning, (client, options) => client.getFlightInfo(descriptor, options));
    const { schema, batches: rows } = await readFlight(info, open);
    return { schema, batches: batches(rows), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const STOPPED = new ServiceError('cancelled', 'The statement was stopped.');
