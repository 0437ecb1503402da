import { ServiceError } from '@svc/errors';
import { encapsulate, END_OF_STREAM, readArrowHeader } from '@svc/frames/internal';
import type { flight } from '@svc/proto';

/** The data of an upload. */
export interface FlightUpload {
  /** An Arrow IPC stream, to be read once. It ends only after the client has half-closed the call. */
  readonly body: AsyncIterable<Uint8Array>;
  /** The number of rows read so far. */
  readonly rows: () => number;
  /** Whether the first message has a schema with columns: without one, no rows follow. */
  hasColumns(): boolean;
}

/** Joins the messages of an upload into an Arrow IPC stream. */
export function flightUpload(
  first: flight.FlightData,
  rest: AsyncIterator<flight.FlightData, void, undefined>,
): FlightUpload {
  let rows = 0;

  async function* body(): AsyncGenerator<Uint8Array, void, undefined> {
    let next: IteratorResult<flight.FlightData, void> = { value: first };
    for (; next.done !== true; next = await rest.next()) {
      const { dataHeader, dataBody } = next.value;
      // A message may contain only the descriptor.
      if (dataHeader.length === 0) continue;
      const head = readArrowHeader(dataHeader);
      // Otherwise the next message would be read as the rest of a body that is too short.
      if (dataBody.length !== head.bodyLength) throw wrongLength(dataBody.length, head.bodyLength);
      rows += head.rows;
      yield encapsulate(dataHeader);
      if (dataBody.length > 0) yield dataBody;
    }
    yield END_OF_STREAM;
  }

  return {
    body: body(),
    rows: () => rows,
    hasColumns: () => first.dataHeader.length > 0 && readArrowHeader(first.dataHeader).columns > 0,
  };
}

function wrongLength(bytes: number, expected: number): ServiceError {
  return new ServiceError(
    'invalid_data',
    `A message of the upload has a body of ${bytes} bytes, but its header says ${expected}.`,
    { hint: 'Send the complete body of each message, including its padding.' },
  );
}
