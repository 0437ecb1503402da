import { ServiceError } from '@svc/errors';
import { encapsulate, END_OF_STREAM, readArrowHeader } from '@svc/frames/internal';
import type { flight } from '@svc/proto';

/** The data of an upload as it comes in. */
export interface FlightUpload {
  /** An Arrow IPC stream, to be read once. Its end comes only when the client has ended the call. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Rows that were read of it so far. */
  readonly rows: () => number;
  /** Whether the first message has a schema with columns: without one, no rows follow. */
  hasColumns(): boolean;
}

/** Puts the messages of an upload together to an Arrow IPC stream. */
export function flightUpload(
  first: flight.FlightData,
  rest: AsyncIterator<flight.FlightData, void, undefined>,
): FlightUpload {
  let rows = 0;

  async function* body(): AsyncGenerator<Uint8Array, void, undefined> {
    let next: IteratorResult<flight.FlightData, void> = { value: first };
    for (; next.done !== true; next = await rest.next()) {
      const { dataHeader, dataBody } = next.value;
      // A message may carry the descriptor alone.
      if (dataHeader.length === 0) continue;
      const head = readArrowHeader(dataHeader);
      // What follows a body that is too short would be taken for its rest.
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
    `A message of the upload has a body of ${bytes} bytes, and its header says ${expected}.`,
    { hint: 'Send the body of each message whole, with its padding.' },
  );
}
