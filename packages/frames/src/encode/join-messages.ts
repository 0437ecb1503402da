import { ServiceError } from '@svc/errors';
import { type ArrowHeader, readArrowHeader } from '../decode/arrow/arrow-header.ts';
import { encapsulate, END_OF_STREAM } from './arrow-stream.ts';

/** An Arrow message whose header and body were sent apart, as Flight does. */
export interface SplitMessage {
  readonly dataHeader: Uint8Array;
  readonly dataBody: Uint8Array;
}

/** Joins messages to an Arrow IPC stream, without copying their bodies. Messages without a header are skipped. */
export async function* joinArrowMessages(
  messages: AsyncIterable<SplitMessage>,
  onMessage: (header: ArrowHeader) => void = () => undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const { dataHeader, dataBody } of messages) {
    if (dataHeader.length === 0) continue;
    const header = readArrowHeader(dataHeader);
    // Otherwise the next message would be read as the rest of a body that is too short.
    if (dataBody.length !== header.bodyLength) throw wrongLength(dataBody.length, header.bodyLength);
    onMessage(header);
    yield encapsulate(dataHeader);
    if (dataBody.length > 0) yield dataBody;
  }
  yield END_OF_STREAM;
}

function wrongLength(bytes: number, expected: number): ServiceError {
  return new ServiceError(
    'invalid_data',
    `A message of the Arrow data has a body of ${bytes} bytes, but its header says ${expected}.`,
    { hint: 'Send the complete body of each message, including its padding.' },
  );
}
