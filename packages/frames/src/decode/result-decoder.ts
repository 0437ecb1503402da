import { ServiceError } from '@svc/errors';
import type { RecordBatch, Schema } from 'apache-arrow';
import { decodeArrowResult } from './arrow/arrow-decoder.ts';
import { schemaFromResult } from './arrow/arrow-schema.ts';
import { createByteInput, type FramePart } from './decode-steps.ts';
import { createFrameBudget } from './limits.ts';
import { createFrameAssembler, type FrameAssembler } from './worker/frame-assembler.ts';

/**
 * Decodes the result of a query that another engine sends in pieces: each is a complete Arrow IPC stream, all with the
 * same schema. Nothing about the bytes is trusted.
 */
export interface ResultDecoder {
  /** The columns, known after the first piece. */
  readonly schema: Schema | undefined;
  /** Decodes a piece, given in chunks. Malformed bytes are `invalid_data`, too many are `out_of_memory`. */
  decode(chunks: readonly Uint8Array[]): RecordBatch[];
}

/** Creates a decoder of pieces that need at most `maxBytes` of memory each. */
export function createResultDecoder(maxBytes: number): ResultDecoder {
  let first: { readonly message: Uint8Array; readonly assembler: FrameAssembler } | undefined;

  function assemble(part: FramePart): RecordBatch | undefined {
    if (part.kind !== 'schema') return first?.assembler.add(part);
    first ??= { message: part.message, assembler: createFrameAssembler(schemaFromResult(part.message)) };
    if (Buffer.compare(first.message, part.message) === 0) return undefined;
    throw new ServiceError('invalid_data', 'A later piece of the Arrow data has another schema than the first.');
  }

  return {
    get schema() {
      return first?.assembler.schema;
    },
    decode(chunks) {
      const input = createByteInput();
      for (const chunk of chunks) input.push(chunk);
      input.end();
      const batches: RecordBatch[] = [];
      for (const step of decodeArrowResult(input, createFrameBudget(maxBytes))) {
        if (step.kind === 'working' || step.kind === 'more' || step.kind === 'again') continue;
        const batch = assemble(step);
        if (batch !== undefined) batches.push(batch);
      }
      return batches;
    },
  };
}
