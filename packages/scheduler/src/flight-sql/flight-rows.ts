import { ServiceError, toServiceError } from '@svc/errors';
import type { FrameStream } from '@svc/frames';
import { decodeArrowHere, joinArrowMessages, schemaFromResult } from '@svc/frames/internal';
import type { flight } from '@svc/proto';
import type { RecordBatch, Schema } from 'apache-arrow';
import { schedulerFailed } from '../scheduler-failed.ts';
import type { MessageReader } from './read-messages.ts';

/** Opens the data of an endpoint. */
export type OpenEndpoint = (endpoint: flight.FlightEndpoint) => MessageReader<flight.FlightData>;

/**
 * Reads the rows of a FlightInfo: those of each endpoint, in order. Resolves when the columns are known. An answer with fewer
 * rows than announced, and endpoints with other columns than the first, are `scheduler_failed`.
 */
export async function readFlight(info: flight.FlightInfo, open: OpenEndpoint): Promise<FrameStream> {
  const [first, ...rest] = info.endpoint;
  if (first === undefined) return { schema: announcedSchema(info), batches: noBatches() };
  const head = await decodeEndpoint(open(first));
  const { schema } = head;

  async function* batches(): AsyncGenerator<RecordBatch, void, undefined> {
    let rows = 0;
    for await (const batch of reported(head.batches)) {
      rows += batch.numRows;
      yield batch;
    }
    for (const endpoint of rest) {
      const next = await decodeEndpoint(open(endpoint));
      checkSchema(schema, next.schema);
      for await (const batch of reported(next.batches)) {
        rows += batch.numRows;
        yield batch;
      }
    }
    // Servers that do not know the number announce -1, or nothing.
    if (info.totalRecords > BigInt(rows)) throw tooShort(rows, info.totalRecords);
  }

  return { schema, batches: batches() };
}

/** Reads the schema of a message that servers send beside the data; undefined if it is empty. */
export function schemaOf(bytes: Uint8Array): Schema | undefined {
  if (bytes.length <= PREFIX_BYTES) return undefined;
  try {
    return schemaFromResult(new Uint8Array(bytes.subarray(isMarked(bytes) ? PREFIX_BYTES : 0)));
  } catch (error) {
    throw unreadable(error);
  }
}

/** The marker and the length before a message. */
const PREFIX_BYTES = 8;

function isMarked(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 4).every((byte) => byte === 0xff);
}

function announcedSchema({ schema }: flight.FlightInfo): Schema {
  const announced = schemaOf(schema);
  if (announced !== undefined) return announced;
  throw schedulerFailed('The scheduler answered without columns and rows.');
}

async function* noBatches(): AsyncGenerator<RecordBatch, void, undefined> {
  // There is none.
}

async function decodeEndpoint(messages: MessageReader<flight.FlightData>): Promise<FrameStream> {
  try {
    return await decodeArrowHere(joinArrowMessages(messages), { maxBytes: MAX_BATCH_BYTES });
  } catch (error) {
    await messages.cancel();
    throw unreadable(error);
  }
}

/** The most bytes of a batch with its dictionaries, decompressed. */
const MAX_BATCH_BYTES = 512 * 1024 * 1024;

async function* reported(batches: AsyncIterable<RecordBatch>): AsyncGenerator<RecordBatch, void, undefined> {
  try {
    yield* batches;
  } catch (error) {
    throw unreadable(error);
  }
}

/** Converts an error of the Arrow reader, which is about uploads. */
function unreadable(error: unknown): ServiceError {
  if (!(error instanceof ServiceError)) return toServiceError(error);
  if (error.code === 'invalid_data') {
    return schedulerFailed(`The scheduler's answer cannot be read: ${error.message}`, {
      hint: 'Cast columns of unusual types in the SQL.',
      cause: error,
    });
  }
  if (error.code !== 'out_of_memory') return error;
  return new ServiceError(
    'out_of_memory',
    `A batch of the scheduler's answer has more than ${MAX_BATCH_BYTES} bytes.`,
    {
      hint: 'Select fewer columns or shorter values.',
      cause: error,
    },
  );
}

function checkSchema(schema: Schema, other: Schema): void {
  const columnsOf = ({ fields }: Schema): string => fields.map(({ name, type }) => `${name} ${type}`).join(', ');
  if (columnsOf(schema) === columnsOf(other)) return;
  throw schedulerFailed("The parts of the scheduler's answer have different columns.");
}

function tooShort(rows: number, announced: bigint): ServiceError {
  return schedulerFailed(`The scheduler announced ${announced} rows, but sent ${rows}.`);
}
