import { orAborted } from '@svc/errors/internal';
import type { flight } from '@svc/proto';
import type { Cluster } from '../cluster.ts';
import type { BoundStatement, Driver } from '../driver.ts';
import { rememberSuccess } from '../remember-success.ts';
import { schedulerFailed } from '../scheduler-failed.ts';
import { waitForStops } from '../wait-for-stops.ts';
import { bindFrames, type BoundSql, inParentheses, withoutRows } from './bind-frames.ts';
import { createCancelFlight } from './cancel-flight.ts';
import { type CallScope, type Connection, createConnection } from './connection.ts';
import { preparedSchema, querySchema } from './describe-statement.ts';
import { findDialect } from './dialect.ts';
import { parseReadFile } from './read-file-template.ts';
import type { MessageReader } from './read-messages.ts';
import { type RunningStatements, runStatement } from './running-statement.ts';

/** Options of `createFlightDriver`. */
export interface FlightDriverOptions {
  /**
   * How the engine reads a Parquet file, with `{uri}` in quotes: `read_parquet('{uri}')`, `` parquet.`{uri}` ``. Default: frames
   * are not bound, and the tables of a statement are those of the engine.
   */
  readonly readFile?: string | undefined;
}

/** Creates a driver for an engine that speaks Flight SQL. It connects with the first statement. */
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

/** Says that the data is on the connection that its ticket came from. */
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
