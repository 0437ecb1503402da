import { joinArrowMessages, prepend, readArrowHeader } from '@svc/frames/internal';
import type { flight } from '@svc/proto';
import type { Acknowledge } from './with-acknowledgements.ts';

/** The data of an upload. */
export interface FlightUpload {
  /** An Arrow IPC stream, to be read once. It ends only after the client has half-closed the call. */
  readonly body: AsyncIterable<Uint8Array>;
  /** The number of rows read so far. */
  readonly rows: () => number;
  /** Whether the first message has a schema with columns: without one, no rows follow. */
  hasColumns(): boolean;
}

/**
 * Joins the messages of an upload into an Arrow IPC stream. A message may contain only the descriptor, or metadata.
 * `acknowledge` is called with the metadata of a message when the next one is wanted.
 */
export function flightUpload(
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
