import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { Call, Decoders, FrameStream } from '@svc/frames';
import { checkPlace } from '@svc/frames/statements';
import { type flight, flightSql } from '@svc/proto';
import type { EngineName, Service } from '@svc/service';
import type { CountedCall } from '../call-traffic.ts';
import { boundParams, parameterError } from '../flight-sql/bound-params.ts';
import type { Command } from '../flight-sql/command.ts';
import type { BoundValues, PreparedStatement, PreparedStatements } from '../flight-sql/prepared-statements.ts';
import { refuseTransaction } from '../flight-sql/refuse-transaction.ts';
import { authorizeStatement, parsedStatement, runUpdate, takesRows } from '../flight-sql/run-update.ts';
import { flightTarget } from './flight-target.ts';
import { type FlightUpload, flightUpload } from './flight-upload.ts';
import type { Acknowledge } from './with-acknowledgements.ts';

/** Dependencies of uploads. */
export interface FlightPutsOptions {
  readonly service: Service;
  readonly statements: PreparedStatements;
  /** Decodes the parameters of statements. */
  readonly decoders: Decoders;
}

/** Processes an upload, and returns the metadata of the result. */
export type FlightPut = (
  call: CountedCall,
  messages: AsyncIterator<flight.FlightData, void, undefined>,
  options: FlightPutOptions,
) => Promise<Uint8Array>;

/** How an upload runs. */
export interface FlightPutOptions {
  /** Runs a statement that was not prepared. */
  readonly engine: EngineName;
  /** Called with the metadata of a message of a frame, when its rows are taken over. */
  readonly acknowledge: Acknowledge;
}

/** Creates the handler of uploads. */
export function createFlightPuts({ service, statements, decoders }: FlightPutsOptions): FlightPut {
  /** Runs an `INSERT` with the rows that a client binds, while they arrive. */
  async function insertBound(
    call: Call,
    prepared: PreparedStatement,
    rows: AsyncIterable<Uint8Array>,
  ): Promise<number> {
    const done = new AbortController();
    try {
      const signal = AbortSignal.any([call.signal, done.signal]);
      return await runUpdate(service, call, prepared, await decoded(decoders, rows, call, signal));
    } finally {
      // A refused statement has not read its rows, which hold a decoder until it is aborted.
      done.abort(new ServiceError('cancelled', 'The rows were abandoned.'));
    }
  }

  async function run(
    call: CountedCall,
    command: Command,
    upload: FlightUpload,
    engine: EngineName,
  ): Promise<Uint8Array> {
    if (command.name === 'CommandStatementIngest') {
      call.traffic.hasRows = true;
      return updateResult(await ingest(service, call, command.message, upload));
    }
    if (command.name === 'CommandStatementUpdate') {
      refuseTransaction(command.message.transactionId);
      // Do not wait for more messages: C++ and Java clients read the result before they half-close the call.
      const statement = parsedStatement({ sql: command.message.query, params: [], engine });
      return updateResult(await runUpdate(service, call, statement));
    }
    if (command.name === 'CommandPreparedStatementUpdate') {
      const prepared = statements.get(call, command.message.preparedStatementHandle);
      authorizeStatement(service, call, prepared);
      if (upload.hasColumns() && takesRows(prepared.update)) {
        call.traffic.hasRows = true;
        return updateResult(await insertBound(call, prepared, upload.body));
      }
      // The client of Rust binds the rows of an update as those of a query, in a call before.
      if (prepared.rows) return updateResult(await insertBound(call, prepared, each(prepared.rows)));
      const bound = upload.hasColumns() ? await boundBy(decoders, upload, prepared, call) : undefined;
      return updateResult(await runUpdate(service, call, { ...prepared, ...bound }));
    }
    if (command.name === 'CommandPreparedStatementQuery') {
      const { preparedStatementHandle } = command.message;
      const prepared = statements.get(call, preparedStatementHandle);
      authorizeStatement(service, call, prepared);
      statements.bind(
        call,
        preparedStatementHandle,
        (await boundBy(decoders, upload, prepared, call)) ?? { params: [] },
      );
      return flightSql.DoPutPreparedStatementResult.encode({ preparedStatementHandle }).finish();
    }
    throw new ServiceError('invalid_argument', `${command.name} takes no data.`, {
      hint: 'Send it with GetFlightInfo.',
    });
  }

  return async (call, messages, { engine, acknowledge }) => {
    const first = await messages.next();
    if (first.done === true) throw new ServiceError('invalid_argument', 'The upload has no message.');
    const target = flightTarget(first.value.flightDescriptor);
    // The result of a command is its first message: it acknowledges nothing.
    if (target.kind === 'command') return run(call, target.command, flightUpload(first.value, messages), engine);
    call.traffic.hasRows = true;
    const { body } = flightUpload(first.value, messages, acknowledge);
    const { info } = await service.putFrame(call, target.handle, { format: 'arrow', body });
    return Buffer.from(info.version);
  };
}

/** Decodes the values that a client binds. */
async function decoded(
  decoders: Decoders,
  body: AsyncIterable<Uint8Array>,
  call: Call,
  signal = call.signal,
): Promise<FrameStream> {
  try {
    return await decoders.decode('arrow', body, { signal, origin: call, unions: true });
  } catch (error) {
    throw parameterError(error);
  }
}

/** Reads the values that a client binds to a statement. */
async function boundBy(
  decoders: Decoders,
  upload: FlightUpload,
  { update }: PreparedStatement,
  call: Call,
): Promise<BoundValues | undefined> {
  const chunks = await paramChunks(upload);
  if (upload.rows() === 0) return undefined;
  const rows = takesRows(update) ? { rows: chunks } : undefined;
  if (rows && upload.rows() > 1) return { params: [], ...rows };
  return { params: await boundParams(await decoded(decoders, each(chunks), call)), ...rows };
}

/** Collects the values that a client binds. They are complete when the client half-closes the call. */
async function paramChunks({ body }: FlightUpload): Promise<readonly Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_STATEMENT_PARAMS_BYTES) throw paramsTooLarge();
  }
  return chunks;
}

async function* each(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void, undefined> {
  yield* chunks;
}

/** The most bytes of one row of values. */
const MAX_STATEMENT_PARAMS_BYTES = 16 * 1024 * 1024;

function paramsTooLarge(): ServiceError {
  return new ServiceError('payload_too_large', `The parameters take more than ${MAX_STATEMENT_PARAMS_BYTES} bytes.`, {
    hint: 'Put large values into a frame, and join it.',
  });
}

function updateResult(rows: number): Uint8Array {
  return flightSql.DoPutUpdateResult.encode({ recordCount: BigInt(rows) }).finish();
}

/** Puts or appends the rows of an upload as the command says. Returns the number of rows. */
async function ingest(
  service: Service,
  call: Call,
  command: flightSql.CommandStatementIngest,
  upload: FlightUpload,
): Promise<number> {
  check(command);
  const { table } = command;
  const { APPEND, REPLACE } = EXISTS;
  const { ifExists, ifNotExist } = command.tableDefinitionOptions ?? { ifExists: 0, ifNotExist: 0 };
  const mayCreate = ifNotExist === NOT_EXIST.CREATE;
  const data = { format: 'arrow', body: upload.body } as const;
  const isPresent = mayCreate ? {} : { ifPresent: true };
  try {
    if (ifExists === APPEND) await service.appendFrame(call, table, data, isPresent);
    else if (ifExists === REPLACE) await service.putFrame(call, table, data, isPresent);
    else await service.putFrame(call, table, data, { ifAbsent: true });
  } catch (error) {
    const isMissing = !mayCreate && error instanceof ServiceError && error.code === 'version_conflict';
    throw isMissing ? new ServiceError('handle_not_found', `There is no table ${quoted(table)}.`) : error;
  }
  return upload.rows();
}

const EXISTS = {
  APPEND: flightSql.CommandStatementIngestTableDefinitionOptionsTableExistsOption.TABLE_EXISTS_OPTION_APPEND,
  REPLACE: flightSql.CommandStatementIngestTableDefinitionOptionsTableExistsOption.TABLE_EXISTS_OPTION_REPLACE,
};
const NOT_EXIST = {
  CREATE: flightSql.CommandStatementIngestTableDefinitionOptionsTableNotExistOption.TABLE_NOT_EXIST_OPTION_CREATE,
};

function check({ catalog, schema, temporary, transactionId, options }: flightSql.CommandStatementIngest): void {
  checkPlace(catalog, schema);
  refuseTransaction(transactionId);
  if (temporary) {
    throw new ServiceError('invalid_argument', 'There are no temporary tables.', { hint: 'Leave temporary out.' });
  }
  const [option] = options.keys();
  if (option !== undefined) {
    throw new ServiceError('invalid_argument', `There is no ingest option ${quoted(option)}.`, {
      hint: 'Leave options out.',
    });
  }
}
