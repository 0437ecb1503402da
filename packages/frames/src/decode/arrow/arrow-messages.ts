import { ServiceError } from '@svc/errors';
import type { ByteBudget } from '../../byte-budget.ts';
import { isFileStart, readArrowFile } from './arrow-file.ts';
import { cut, invalid, PREFIX_BYTES, prefixOf, readBody, readMetadata, type Reading } from './arrow-message.ts';
import { type ByteInput, readBytes } from '../decode-steps.ts';

/**
 * Reads the messages of an Arrow stream or file. A stream may lack its end marker, but must not end inside a message;
 * nothing may follow the end marker.
 */
export function* readArrowMessages(input: ByteInput, budget: ByteBudget): Reading<void> {
  const start = yield* readBytes(input, PREFIX_BYTES);
  if (isFileStart(start)) yield* readArrowFile(input, budget);
  else yield* readStream(input, start, budget);
}

function* readStream(input: ByteInput, start: Uint8Array, budget: ByteBudget): Reading<void> {
  if (prefixOf(start)?.isMarked !== true) throw notArrow(start);
  let bytes = start;
  for (let isFirst = true; bytes.length > 0; isFirst = false) {
    const prefix = prefixOf(bytes);
    if (prefix === undefined) throw cut(input);
    if (!prefix.isMarked) throw invalid(`The Arrow data has no message at byte ${input.position - PREFIX_BYTES}.`);
    if (prefix.length === 0) {
      yield* readEnd(input);
      return;
    }
    const message = yield* readBody(input, yield* readMetadata(input, prefix.length, budget), budget);
    if (isFirst && message.kind !== 'schema') throw invalid('The Arrow stream does not start with a schema.');
    yield message;
    bytes = yield* readBytes(input, PREFIX_BYTES);
  }
}

function* readEnd(input: ByteInput): Reading<void> {
  const rest = yield* readBytes(input, 1);
  if (rest.length > 0) {
    throw new ServiceError('invalid_data', `Bytes follow the end of the Arrow stream, at byte ${input.position - 1}.`, {
      hint: 'Send one stream only; to put several into one frame, write their batches as one stream.',
    });
  }
}

function notArrow(start: Uint8Array): ServiceError {
  const found =
    start.length === 0 ? 'The body is empty' : 'The body is neither an Arrow IPC stream nor an Arrow IPC file';
  return new ServiceError('invalid_data', `${found}.`, {
    hint: 'Write it with an IPC stream or file writer of Arrow 0.15 or newer; a stream starts with the bytes ff ff ff ff, a file with "ARROW1".',
  });
}
