import { joinArrowMessages, prepend, readArrowHeader } from '@svc/frames/internal';
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

/** Joins the messages of an upload into an Arrow IPC stream. A message may contain only the descriptor. */
export function flightUpload(
  first: flight.FlightData,
  rest: AsyncIterator<flight.FlightData, void, undefined>,
): FlightUpload {
  let rows = 0;
  return {
    body: joinArrowMessages(prepend([first], rest), (header) => void (rows += header.rows)),
    rows: () => rows,
    hasColumns: () => first.dataHeader.length > 0 && readArrowHeader(first.dataHeader).columns > 0,
  };
}
