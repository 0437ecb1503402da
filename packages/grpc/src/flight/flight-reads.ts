import { ServiceError } from '@svc/errors';
import type { Call, FrameStream } from '@svc/frames';
import { createYield } from '@svc/frames/async';
import { encapsulate, encodeArrowSchema } from '@svc/frames/ipc';
import { parseUpdate } from '@svc/frames/statements';
import { flight } from '@svc/proto';
import type { EngineName, Service, SqlResult } from '@svc/service';
import { Schema } from 'apache-arrow';
import { streamWithColumnMetadata, withColumnMetadata } from '../flight-sql/column-metadata.ts';
import { type Command, parseCommand, refuseTransaction } from '../flight-sql/command.ts';
import {
  isMetadataCommand,
  type MetadataCall,
  type MetadataCommand,
  metadataSchema,
  readMetadata,
} from '../flight-sql/metadata.ts';
import type { PreparedStatements } from '../flight-sql/prepared-statements.ts';
import { parsedStatement, runUpdate } from '../flight-sql/run-update.ts';
import { smallTable } from '../flight-sql/small-table.ts';
import { timestampMessage } from '../messages.ts';
import { type BoundStatement, decodeSource, encodeSource, type FlightSource, flightTarget } from './flight-source.ts';
import type { PendingQueries, PendingQuery, Tickets } from './tickets.ts';

/** An open read. The caller must close it. */
export interface OpenFlight {
  readonly stream: FrameStream;
  /** Called with the length of each message. Default: nothing. */
  readonly onBytes?: (bytes: number) => void;
  close(): void;
}

/** Reads of frames, query results and metadata. */
export interface FlightReads {
  /** Returns the FlightInfo of a descriptor, with a ticket to read it. `engine` runs a statement. */
  info(call: Call, descriptor: flight.FlightDescriptor, engine: EngineName): Promise<flight.FlightInfo>;
  /** Returns the schema of a descriptor as an encapsulated Arrow IPC message. */
  schema(call: Call, descriptor: flight.FlightDescriptor, engine: EngineName): Promise<Uint8Array>;
  /** Opens the data of a ticket. */
  open(call: MetadataCall, ticket: Uint8Array): Promise<OpenFlight>;
  /** Returns a new ticket for a valid one. */
  renew(call: Call, ticket: Uint8Array): flight.FlightEndpoint;
}

/** Dependencies of reads. */
export interface FlightReadsOptions {
  readonly service: Service;
  readonly tickets: Tickets;
  readonly pending: PendingQueries;
  readonly statements: PreparedStatements;
}

/** Encodes a schema for the messages of Flight. */
export function schemaBytes(schema: Schema): Uint8Array {
  return encapsulate(encodeArrowSchema(schema).header);
}

/** Creates the reads of a service. */
export function createFlightReads(parts: FlightReadsOptions): FlightReads {
  const { service, tickets, pending } = parts;

  function endpoint(call: Call, content: Uint8Array, query?: PendingQuery): flight.FlightEndpoint {
    const { ticket, expires } = tickets.issue(call, content);
    if (query !== undefined) pending.keep(call, ticket, query);
    return flight.FlightEndpoint.fromPartial({ ticket: { ticket }, expirationTime: timestampMessage(expires) });
  }

  return {
    async info(call, descriptor, engine) {
      let query: PendingQuery | undefined;
      const schemaOf = async (statement: BoundStatement): Promise<Schema> => {
        const running = await pending.begin(call, statement);
        query = running.query;
        return running.schema;
      };
      const { source, schema, rows, bytes, version } = await describe(parts, call, descriptor, { engine, schemaOf });
      return {
        schema: schemaBytes(schema),
        flightDescriptor: descriptor,
        endpoint: [endpoint(call, encodeSource(source), query)],
        totalRecords: BigInt(rows ?? -1),
        totalBytes: BigInt(bytes ?? -1),
        ordered: true,
        appMetadata: Buffer.from(version ?? ''),
      };
    },

    async schema(call, descriptor, engine) {
      const schemaOf = async (statement: BoundStatement): Promise<Schema> => {
        if (statement.params.length === 0) {
          return (await service.describeQuery(call, statement.sql, statement.engine)).schema;
        }
        // The types of the columns may depend on the values, so only the result has them.
        const { query, schema: resultSchema } = await pending.begin(call, statement);
        query.end(NOT_WANTED);
        return resultSchema;
      };
      const { schema } = await describe(parts, call, descriptor, { engine, schemaOf });
      return schemaBytes(schema);
    },

    async open(call, ticket) {
      const result = pending.take(call, ticket);
      if (result !== undefined) return openResult(await result);
      const source = decodeSource(tickets.open(call, ticket));
      if (source.kind === 'frame') return service.readFrame(call, source.handle);
      if (source.kind === 'query') {
        const { sql, params, engine } = source;
        return openResult(await service.query(call, sql, { params, engine }));
      }
      if (source.kind === 'update') {
        await runUpdate(service, call, await parsedStatement(source));
        return { stream: smallTable(NO_COLUMNS, []), close: () => undefined };
      }
      const stream = await readMetadata(service, call, metadataCommand(source.command));
      return { stream, close: () => undefined };
    },

    renew(call, ticket) {
      return endpoint(call, tickets.open(call, ticket));
    },
  };
}

const NOT_WANTED = new ServiceError('cancelled', 'Only the schema of the result was requested.');

function openResult(result: SqlResult): OpenFlight {
  return {
    stream: streamWithColumnMetadata(result),
    onBytes: (bytes) => result.sent(bytes),
    close: () => result.close(),
  };
}

function metadataCommand(bytes: Uint8Array): MetadataCommand {
  const command = parseCommand(bytes);
  if (isMetadataCommand(command)) return command;
  throw new Error(`A ticket was issued for ${command.name}.`);
}

/** The description of a descriptor. */
interface FlightDescription {
  readonly source: FlightSource;
  readonly schema: Schema;
  readonly rows?: number;
  readonly bytes?: number;
  readonly version?: string;
}

/** How to describe a statement. */
interface DescribeOptions {
  /** The engine of an unprepared statement. */
  readonly engine: EngineName;
  readonly schemaOf: (statement: BoundStatement) => Promise<Schema>;
}

/** The schema of an empty result. */
const NO_COLUMNS: Schema = new Schema([]);

/** Describes a descriptor without reading its data. */
async function describe(
  parts: FlightReadsOptions,
  call: Call,
  descriptor: flight.FlightDescriptor,
  options: DescribeOptions,
): Promise<FlightDescription> {
  const target = flightTarget(descriptor);
  if (target.kind === 'command') return describeCommand(parts, call, target.command, descriptor.cmd, options);
  const reading = await parts.service.readFrame(call, target.handle, { limit: 0 });
  reading.close();
  const { info, stream } = reading;
  return { source: target, schema: stream.schema, rows: info.rows, bytes: info.bytes, version: info.version };
}

/** Describes a command. `bytes`: its encoded form. */
async function describeCommand(
  { service, statements }: FlightReadsOptions,
  call: Call,
  command: Command,
  bytes: Uint8Array,
  { engine, schemaOf }: DescribeOptions,
): Promise<FlightDescription> {
  if (isMetadataCommand(command)) {
    return { source: { kind: 'command', command: bytes }, schema: metadataSchema(command) };
  }
  if (command.name === 'CommandStatementQuery') {
    refuseTransaction(command.message.transactionId);
    const sql = command.message.query;
    const statement = { sql, params: [], engine };
    if (await parseUpdate(sql, createYield())) return { source: { kind: 'update', ...statement }, schema: NO_COLUMNS };
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
