import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import type { Call, Decoders, FrameStream } from '@svc/frames';
import { withResolvers } from '@svc/frames/async';
import { joinArrowMessages, readArrowHeader } from '@svc/frames/ipc';
import { prepend } from '@svc/frames/streams';
import { checkPlace } from '@svc/frames/statements';
import { type flight, flightSql } from '@svc/proto';
import type { EngineName, Service } from '@svc/service';
import type { CountedCall } from '../call/calls.ts';
import { boundParams, parameterError } from '../flight-sql/bound-params.ts';
import { type Command, refuseTransaction } from '../flight-sql/command.ts';
import type { BoundValues, PreparedStatement, PreparedStatements } from '../flight-sql/prepared-statements.ts';
import { authorizeStatement, parsedStatement, runUpdate, takesRows } from '../flight-sql/run-update.ts';
import { flightTarget } from './flight-source.ts';

/** Dependencies of uploads. */
interface FlightPutsOptions {
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
interface FlightPutOptions {
  /** Runs an unprepared statement. */
  readonly engine: EngineName;
  /** Called with the metadata of a message of a frame, when its rows are taken over. */
  readonly acknowledge: Acknowledge;
}

/** Creates the handler of uploads. */
export function createFlightPuts({ service, statements, decoders }: FlightPutsOptions): FlightPut {
  /** Runs an `INSERT` with bound rows, while they arrive. */
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
      // A refused statement has not read its rows. They hold a decoder until it is aborted.
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
      const statement = await parsedStatement({ sql: command.message.query, params: [], engine });
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

/** Decodes bound values. */
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

/** Reads the values bound to a statement. */
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

/** Collects bound values. They are complete when the client half-closes the call. */
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

/** The data of an upload. */
interface FlightUpload {
  /** An Arrow IPC stream, to be read once. It ends only after the client has half-closed the call. */
  readonly body: AsyncIterable<Uint8Array>;
  /** The number of rows read so far. */
  readonly rows: () => number;
  /** True if the first message has a schema with columns: without one, no rows follow. */
  hasColumns(): boolean;
}

/**
 * Joins the messages of an upload into an Arrow IPC stream. A message may contain only the descriptor, or metadata.
 * `acknowledge` is called with the metadata of a message when the next one is wanted.
 */
function flightUpload(
  first: flight.FlightData,
  rest: AsyncIterator<flight.FlightData, void, undefined>,
  acknowledge?: Acknowledge,
): FlightUpload {
  let rows = 0;
  const all = prepend([first], rest);
  const messages = acknowledge === undefined ? all : acknowledged(all, acknowledge);
  return {
    body: joinArrowMessages(messages, (header) => void (rows += header.rows)),
    rows: () => rows,
    hasColumns: () => first.dataHeader.length > 0 && readArrowHeader(first.dataHeader).columns > 0,
  };
}

async function* acknowledged(
  messages: AsyncIterable<flight.FlightData>,
  acknowledge: Acknowledge,
): AsyncGenerator<flight.FlightData, void, undefined> {
  for await (const message of messages) {
    yield message;
    if (message.appMetadata.length > 0) await acknowledge(message.appMetadata);
  }
}

/** Acknowledges a message of an upload. Waits while the client has many acknowledgements to read. */
export type Acknowledge = (metadata: Uint8Array) => Promise<void>;

/** The most unread acknowledgements, and the most bytes of them. */
const MAX_WAITING = 10_000;
const MAX_WAITING_BYTES = 1024 ** 2;

/**
 * Runs an upload. Yields the metadata that it acknowledges as the client reads them, and its result at the end. If the
 * upload fails, throws its error instead of what waits. A client that reads nothing for `idleTimeoutMs` while the most
 * acknowledgements wait fails the upload.
 */
export async function* withAcknowledgements(
  run: (acknowledge: Acknowledge) => Promise<Uint8Array>,
  idleTimeoutMs: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let isAbandoned = false;
  let added = withResolvers<void>();
  let taken = withResolvers<void>();
  let outcome: { readonly result: Uint8Array } | { readonly error: unknown } | undefined;

  function isFull(): boolean {
    return !isAbandoned && (waiting.length > MAX_WAITING || waitingBytes > MAX_WAITING_BYTES);
  }

  async function acknowledge(metadata: Uint8Array): Promise<void> {
    if (metadata.length > MAX_WAITING_BYTES) throw tooLarge(metadata.length);
    // A copy: a part would keep the whole message in memory.
    waiting.push(new Uint8Array(metadata));
    waitingBytes += metadata.length;
    added.resolve();
    while (isFull()) await beforeTimeout(taken.promise, idleTimeoutMs);
  }

  function end(how: NonNullable<typeof outcome>): void {
    outcome = how;
    added.resolve();
  }

  run(acknowledge).then(
    (result) => end({ result }),
    (error: unknown) => end({ error }),
  );
  try {
    for (;;) {
      await added.promise;
      added = withResolvers();
      while (waiting.length > 0) {
        if (outcome !== undefined && 'error' in outcome) throw outcome.error;
        const next = waiting.shift() ?? new Uint8Array(0);
        yield next;
        waitingBytes -= next.length;
        taken.resolve();
        taken = withResolvers();
      }
      if (outcome === undefined) continue;
      if ('error' in outcome) throw outcome.error;
      return yield outcome.result;
    }
  } finally {
    isAbandoned = true;
    taken.resolve();
  }
}

async function beforeTimeout(promise: Promise<void>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(unread(timeoutMs)), timeoutMs);
  });
  try {
    await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function tooLarge(bytes: number): ServiceError {
  return new ServiceError(
    'payload_too_large',
    `The app_metadata of a message has ${bytes} bytes, and at most ${MAX_WAITING_BYTES} are acknowledged.`,
    { hint: 'Send a short app_metadata, such as a sequence number.' },
  );
}

function unread(timeoutMs: number): ServiceError {
  return new ServiceError(
    'deadline_exceeded',
    `The client did not read the acknowledgements of its upload for ${timeoutMs} ms.`,
    { hint: 'Read the results of DoPut while you write, or write without app_metadata.' },
  );
}
