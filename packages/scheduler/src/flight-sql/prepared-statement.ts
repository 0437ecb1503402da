import type { SqlValue } from '@svc/frames';
import { encodeArrowMessages } from '@svc/frames/internal';
import { type flight, flightSql, packFlightSql } from '@svc/proto';
import type { Schema } from 'apache-arrow';
import { schedulerFailed } from '../scheduler-failed.ts';
import { preparedQuery, unpack } from './commands.ts';
import type { CallScope, Connection } from './connection.ts';
import { schemaOf } from './flight-rows.ts';
import { paramRow } from './param-row.ts';
import { isUnimplemented } from './status-error.ts';

/** A prepared statement on the server. The caller must close it. */
export interface PreparedStatement {
  /** The columns of the result, if the server knows them before it runs. */
  readonly schema: Schema | undefined;
  /** Binds values, and returns the descriptor of the query. */
  bind(scope: CallScope, params: readonly SqlValue[]): Promise<flight.FlightDescriptor>;
  close(scope: CallScope): Promise<void>;
}

/** Prepares a statement. */
export async function prepareStatement(
  connection: Connection,
  scope: CallScope,
  query: string,
): Promise<PreparedStatement> {
  const request = flightSql.ActionCreatePreparedStatementRequest.encode({ query, transactionId: undefined });
  const created = await act(connection, scope, {
    type: 'CreatePreparedStatement',
    body: packFlightSql('ActionCreatePreparedStatementRequest', request.finish()),
  }).catch((error: unknown) => {
    throw isUnimplemented(error) ? noParameters(error) : error;
  });
  if (created === undefined) throw schedulerFailed('The scheduler prepared a statement without an answer.');
  const answer = flightSql.ActionCreatePreparedStatementResult.decode(unpack(created));
  let handle = answer.preparedStatementHandle;
  return {
    schema: schemaOf(answer.datasetSchema),
    async bind(bindScope, params) {
      // Stateless servers put the values into the handle, and answer with a new one.
      const replaced = await putParams(connection, bindScope, { handle, params });
      if (replaced.length > 0) handle = replaced;
      return preparedQuery(handle);
    },
    async close(closeScope) {
      const message = flightSql.ActionClosePreparedStatementRequest.encode({ preparedStatementHandle: handle });
      const body = packFlightSql('ActionClosePreparedStatementRequest', message.finish());
      await act(connection, closeScope, { type: 'ClosePreparedStatement', body });
    },
  };
}

/** Runs an action, and returns the body of its first result. */
export function act(connection: Connection, scope: CallScope, action: flight.Action): Promise<Uint8Array | undefined> {
  return connection.call(scope, async (client, options) => {
    let first: Uint8Array | undefined;
    for await (const { body } of client.doAction(action, options)) first ??= body;
    return first;
  });
}

async function putParams(
  connection: Connection,
  scope: CallScope,
  { handle, params }: { readonly handle: Uint8Array; readonly params: readonly SqlValue[] },
): Promise<Uint8Array> {
  const row = await paramRow(params);
  async function* messages() {
    let flightDescriptor: flight.FlightDescriptor | undefined = preparedQuery(handle);
    for await (const { header, body } of encodeArrowMessages(row)) {
      yield { flightDescriptor, dataHeader: header, dataBody: Buffer.concat(body) };
      flightDescriptor = undefined;
    }
  }
  return connection.call(scope, async (client, options) => {
    let replaced: Uint8Array = new Uint8Array(0);
    for await (const { appMetadata } of client.doPut(messages(), options)) {
      if (appMetadata.length > 0) {
        replaced = flightSql.DoPutPreparedStatementResult.decode(appMetadata).preparedStatementHandle ?? replaced;
      }
    }
    return replaced;
  });
}

function noParameters(cause: unknown): Error {
  return schedulerFailed('The scheduler has no prepared statements, which parameters need.', {
    hint: 'Write the values into the SQL, or use another engine.',
    cause,
  });
}
