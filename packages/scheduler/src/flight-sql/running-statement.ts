import { cancelledError, onAbort, ServiceError } from '@svc/errors';
import type { flight } from '@svc/proto';
import type { RecordBatch } from 'apache-arrow';
import type { BoundStatement, DriverResult } from '../driver.ts';
import type { BoundSql } from './bind-frames.ts';
import type { CancelFlight } from './cancel-flight.ts';
import { statementQuery } from './commands.ts';
import type { CallScope, Connection } from './connection.ts';
import { type OpenEndpoint, readFlight } from './flight-rows.ts';
import { type PreparedStatement, prepareStatement } from './prepared-statement.ts';
import type { MessageReader } from './read-messages.ts';

/** What a statement needs to run. */
export interface StatementParts {
  readonly connection: Connection;
  readonly cancelFlight: CancelFlight;
  /** Opens the data of an endpoint, on the server that has it. */
  readonly openEndpoint: (scope: CallScope, endpoint: flight.FlightEndpoint) => MessageReader<flight.FlightData>;
  readonly running: RunningStatements;
}

/** Ends what runs: an entry for each statement. */
export type RunningStatements = Set<() => Promise<void>>;

/** A statement to run. */
export interface RunOptions {
  readonly statement: BoundStatement;
  readonly bound: BoundSql;
  readonly signal: AbortSignal;
}

/** How long the server may take to confirm the end of a statement. */
const STOP_TIMEOUT_MS = 10_000;

/** Runs a statement, and resolves when its columns are known. */
export async function runStatement(
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
