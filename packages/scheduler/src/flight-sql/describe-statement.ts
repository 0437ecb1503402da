import type { Schema } from 'apache-arrow';
import type { CancelFlight } from './cancel-flight.ts';
import { statementQuery } from './commands.ts';
import type { CallScope, Connection } from './connection.ts';
import { schemaOf } from './flight-rows.ts';
import { prepareStatement } from './prepared-statement.ts';
import { isUnimplemented } from './status-error.ts';

/** What a description needs. */
export interface DescribeParts {
  readonly connection: Connection;
  readonly cancelFlight: CancelFlight;
}

/** Returns the columns of a statement with parameters; undefined if the server does not know them before it runs. */
export async function preparedSchema(
  { connection }: DescribeParts,
  scope: CallScope,
  text: string,
): Promise<Schema | undefined> {
  const prepared = await prepareStatement(connection, scope, text);
  // The server closes it with its life, if it does not now.
  await prepared.close(scope).catch(() => undefined);
  return prepared.schema;
}

/** Returns the columns of a statement without parameters; undefined if the server does not announce them. */
export async function querySchema(
  { connection, cancelFlight }: DescribeParts,
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
