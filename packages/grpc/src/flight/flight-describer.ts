import { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import { parseUpdate } from '@svc/frames/statements';
import type { flight } from '@svc/proto';
import type { EngineName, Service } from '@svc/service';
import { Schema } from 'apache-arrow';
import { withColumnMetadata } from '../flight-sql/column-metadata.ts';
import type { Command } from '../flight-sql/command.ts';
import { isMetadataCommand, metadataSchema } from '../flight-sql/metadata.ts';
import type { PreparedStatements } from '../flight-sql/prepared-statements.ts';
import { refuseTransaction } from '../flight-sql/refuse-transaction.ts';
import type { BoundStatement, FlightSource } from './flight-source.ts';
import { flightTarget } from './flight-target.ts';

/** The description of a descriptor. */
export interface FlightDescription {
  readonly source: FlightSource;
  readonly schema: Schema;
  readonly rows?: number;
  readonly bytes?: number;
  readonly version?: string;
}

/** Describes a descriptor without reading its data. */
export type FlightDescriber = (
  call: Call,
  descriptor: flight.FlightDescriptor,
  options: DescribeOptions,
) => Promise<FlightDescription>;

/** How to describe a statement. */
export interface DescribeOptions {
  /** The engine of a statement that was not prepared. */
  readonly engine: EngineName;
  readonly schemaOf: (statement: BoundStatement) => Promise<Schema>;
}

/** The schema of an empty result. */
export const NO_COLUMNS: Schema = new Schema([]);

/** Creates a describer of frames, statements and metadata. */
export function createFlightDescriber({
  service,
  statements,
}: {
  readonly service: Service;
  readonly statements: PreparedStatements;
}): FlightDescriber {
  async function describeCommand(
    call: Call,
    command: Command,
    { bytes, engine, schemaOf }: DescribeOptions & { readonly bytes: Uint8Array },
  ): Promise<FlightDescription> {
    if (isMetadataCommand(command)) {
      return { source: { kind: 'command', command: bytes }, schema: metadataSchema(command) };
    }
    if (command.name === 'CommandStatementQuery') {
      refuseTransaction(command.message.transactionId);
      const sql = command.message.query;
      const statement = { sql, params: [], engine };
      if (parseUpdate(sql)) return { source: { kind: 'update', ...statement }, schema: NO_COLUMNS };
      return { source: { kind: 'query', ...statement }, schema: withColumnMetadata(await schemaOf(statement)) };
    }
    if (command.name === 'CommandPreparedStatementQuery') {
      const prepared = statements.get(call, command.message.preparedStatementHandle);
      const { sql, params, engine: preparedFor } = prepared;
      const statement = { sql, params, engine: preparedFor };
      if (prepared.update) return { source: { kind: 'update', ...statement }, schema: NO_COLUMNS };
      const isBound = params.length >= prepared.parameterCount;
      const schema = isBound ? await schemaOf(statement) : (await service.describeQuery(call, sql, preparedFor)).schema;
      return { source: { kind: 'query', ...statement }, schema: withColumnMetadata(schema) };
    }
    throw new ServiceError('invalid_argument', `${command.name} is not something to read.`, {
      hint: 'Send it with DoPut.',
    });
  }

  return async (call, descriptor, options) => {
    const target = flightTarget(descriptor);
    if (target.kind === 'command') {
      return describeCommand(call, target.command, { bytes: descriptor.cmd, ...options });
    }
    const reading = await service.readFrame(call, target.handle, { limit: 0 });
    reading.close();
    const { info, stream } = reading;
    return { source: target, schema: stream.schema, rows: info.rows, bytes: info.bytes, version: info.version };
  };
}
