import { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import { createYield } from '@svc/frames/async';
import { type InsertStatement, parseUpdate } from '@svc/frames/statements';
import { flight, flightSql, packFlightSql } from '@svc/proto';
import type { Service } from '@svc/service';
import { DataType, Field, Schema, TimeMillisecond, TimestampMillisecond, Utf8 } from 'apache-arrow';
import type { Codec } from '../call/message-limits.ts';
import { withColumnMetadata } from '../flight-sql/column-metadata.ts';
import { decodeMessage, notOffered, refuseTransaction, unpack } from '../flight-sql/command.ts';
import type { PreparedStatements } from '../flight-sql/prepared-statements.ts';
import { authorizeStatement, type ParsedStatement } from '../flight-sql/run-update.ts';
import { type FlightReads, schemaBytes } from './flight-reads.ts';
import { type EngineChoice, readSessionOptions, setSessionOptions } from './session.ts';
import type { PendingQueries, RunningFlights } from './tickets.ts';

/** Dependencies of the actions. */
export interface FlightActionsOptions {
  readonly service: Service;
  readonly statements: PreparedStatements;
  readonly reads: FlightReads;
  readonly running: RunningFlights;
  readonly pending: PendingQueries;
}

/** An action with its description. `run` returns undefined if there is no result. */
interface FlightAction {
  readonly description: string;
  run(call: Call, body: Uint8Array, choice: EngineChoice): Promise<Uint8Array | undefined>;
}

/** The actions of the server. */
export interface FlightActions {
  list(): readonly flight.ActionType[];
  run(call: Call, action: flight.Action, choice: EngineChoice): Promise<Uint8Array | undefined>;
}

/** Creates the actions. */
export function createFlightActions(options: FlightActionsOptions): FlightActions {
  const actions: Readonly<Record<string, FlightAction>> = { ...flightActions(options), ...statementActions(options) };
  return {
    list: () => Object.entries(actions).map(([type, { description }]) => ({ type, description })),
    async run(call, { type, body }, choice) {
      const action = Object.hasOwn(actions, type) ? actions[type] : undefined;
      if (action === undefined) throw notOffered('action', type);
      return action.run(call, body, choice);
    },
  };
}

function flightActions({ reads, running, pending }: FlightActionsOptions): Readonly<Record<string, FlightAction>> {
  function cancel(call: Call, info: flight.FlightInfo | undefined): boolean {
    const endpoints = info?.endpoint ?? [];
    if (endpoints.length > MAX_ENDPOINTS) throw tooManyEndpoints(endpoints.length);
    const tickets = endpoints.map(({ ticket }) => ticket?.ticket ?? NOTHING);
    // Cancel all of them, not only the first one found.
    return tickets.flatMap((ticket) => [pending.cancel(call, ticket), running.cancel(call, ticket)]).includes(true);
  }
  return {
    CancelFlightInfo: {
      description: 'Cancels the reads of the tickets of a FlightInfo.',
      async run(call, body) {
        const { info } = decodeMessage('CancelFlightInfoRequest', flight.CancelFlightInfoRequest, body);
        const { CANCEL_STATUS_CANCELLED: done, CANCEL_STATUS_NOT_CANCELLABLE: none } = flight.CancelStatus;
        return flight.CancelFlightInfoResult.encode({ status: cancel(call, info) ? done : none }).finish();
      },
    },
    CancelQuery: {
      description: 'The same as CancelFlightInfo, for older clients.',
      async run(call, body) {
        const { info } = unpacked('ActionCancelQueryRequest', flightSql.ActionCancelQueryRequest, body);
        const { CANCEL_RESULT_CANCELLED: done, CANCEL_RESULT_NOT_CANCELLABLE: none } =
          flightSql.ActionCancelQueryResultCancelResult;
        const isDone = cancel(call, decodeMessage('FlightInfo', flight.FlightInfo, info));
        const answer = flightSql.ActionCancelQueryResult.encode({ result: isDone ? done : none });
        return packFlightSql('ActionCancelQueryResult', answer.finish());
      },
    },
    RenewFlightEndpoint: {
      description: 'Returns a new ticket for one that will expire soon.',
      async run(call, body) {
        const { endpoint } = decodeMessage('RenewFlightEndpointRequest', flight.RenewFlightEndpointRequest, body);
        const renewed = reads.renew(call, endpoint?.ticket?.ticket ?? NOTHING);
        return flight.FlightEndpoint.encode(renewed).finish();
      },
    },
    SetSessionOptions: {
      description: 'Sets the engine of statements; of catalog and schema, only the existing ones are accepted.',
      async run(_call, body, choice) {
        const request = decodeMessage('SetSessionOptionsRequest', flight.SetSessionOptionsRequest, body);
        return flight.SetSessionOptionsResult.encode(setSessionOptions(request, choice)).finish();
      },
    },
    GetSessionOptions: {
      description: 'Returns the catalog, the schema and the engine.',
      run: async (_call, _body, choice) => flight.GetSessionOptionsResult.encode(readSessionOptions(choice)).finish(),
    },
    CloseSession: {
      description: 'Closes the session; the server keeps no state for it.',
      async run(_call, _body, choice) {
        choice.remember(undefined);
        return flight.CloseSessionResult.encode({ status: flight.CloseSessionResultStatus.CLOSED }).finish();
      },
    },
  };
}

function statementActions({ service, statements }: FlightActionsOptions): Readonly<Record<string, FlightAction>> {
  return {
    CreatePreparedStatement: {
      description: 'Prepares a statement.',
      async run(call, body, { engine }) {
        const name = 'ActionCreatePreparedStatementRequest';
        const { query, transactionId } = unpacked(name, flightSql.ActionCreatePreparedStatementRequest, body);
        refuseTransaction(transactionId);
        const pause = createYield();
        await pause();
        const update = await parseUpdate(query, pause);
        await pause();
        authorizeStatement(service, call, { update, engine });
        const info = update === undefined ? await service.describeQuery(call, query, engine) : undefined;
        const parameters = info?.parameters ?? (await updateParameters(service, call, { update, engine }));
        const parameterCount = info?.parameters.fields.length ?? 0;
        const statement = { sql: query, engine, update, parameterCount, params: [] };
        const result = flightSql.ActionCreatePreparedStatementResult.encode({
          preparedStatementHandle: statements.create(call, statement),
          datasetSchema: info ? schemaBytes(withColumnMetadata(info.schema)) : NOTHING,
          parameterSchema: parameters.fields.length > 0 ? schemaBytes(bindable(parameters)) : NOTHING,
          isUpdate: info === undefined,
        });
        return packFlightSql('ActionCreatePreparedStatementResult', result.finish());
      },
    },
    ClosePreparedStatement: {
      description: 'Closes a prepared statement.',
      async run(call, body) {
        const name = 'ActionClosePreparedStatementRequest';
        const request = unpacked(name, flightSql.ActionClosePreparedStatementRequest, body);
        statements.close(call, request.preparedStatementHandle);
        return undefined;
      },
    },
  };
}

const NOTHING = new Uint8Array(0);

/** An info of this server has one endpoint; a client may have joined a few. */
const MAX_ENDPOINTS = 100;

function tooManyEndpoints(count: number): ServiceError {
  return new ServiceError(
    'invalid_argument',
    `The FlightInfo has ${count} endpoints, but at most ${MAX_ENDPOINTS} are cancelled.`,
    {
      hint: 'Send the FlightInfo as GetFlightInfo returned it.',
    },
  );
}

/**
 * Returns the parameter schema for clients: some bind only values of the announced type, and nothing to the null type.
 * The JDBC driver writes milliseconds into a timestamp or time of any unit, so both are announced in milliseconds. A
 * client may bind another unit.
 */
function bindable({ fields }: Schema): Schema {
  return new Schema(
    fields.map(
      ({ name, type, nullable, metadata }: Field<DataType>) => new Field(name, bindableType(type), nullable, metadata),
    ),
  );
}

function bindableType(type: DataType): DataType {
  if (DataType.isNull(type)) return new Utf8();
  if (DataType.isTimestamp(type)) return new TimestampMillisecond(type.timezone);
  if (DataType.isTime(type)) return new TimeMillisecond();
  return type;
}

function unpacked<T>(name: string, codec: Codec<T>, body: Uint8Array): T {
  const packed = unpack(body);
  if (packed.name === name) return decodeMessage(name, codec, packed.value);
  throw new ServiceError('invalid_argument', `The action got ${packed.name}, but takes ${name}.`);
}

/**
 * Returns the parameters of an `INSERT`: the columns that they are for, or those of its query. None if the caller may not know
 * the columns, and for other statements.
 */
async function updateParameters(
  service: Service,
  call: Call,
  { update, engine }: Pick<ParsedStatement, 'engine' | 'update'>,
): Promise<Schema> {
  if (update?.kind === 'insert' && update.placeholders) return insertParameters(service, call, update);
  if (update?.kind !== 'insert') return NONE;
  return (await service.describeQuery(call, update.select, engine)).parameters;
}

const NONE = new Schema([]);

async function insertParameters(
  service: Service,
  call: Call,
  { handle, columns, placeholders = [] }: InsertStatement,
): Promise<Schema> {
  const fields = await fieldsOf(service, call, handle);
  const filled = columns?.map((name) => fields.find((field) => field.name === name)) ?? fields;
  const parameters: (Field | undefined)[] = Array.from({ length: 1 + Math.max(...placeholders) }, () => undefined);
  for (const [i, index] of placeholders.entries()) parameters[index] = filled[i];
  const isComplete = parameters.every((field) => field !== undefined);
  return isComplete ? new Schema(parameters.map((field, i) => field.clone({ name: `${i + 1}` }))) : NONE;
}

async function fieldsOf(service: Service, call: Call, handle: string): Promise<readonly Field[]> {
  try {
    const reading = await service.readFrame(call, handle, { limit: 0 });
    reading.close();
    return reading.stream.schema.fields;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'permission_denied') return [];
    throw error;
  }
}
