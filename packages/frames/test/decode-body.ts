import { ServiceError } from '@svc/errors';
import { type RecordBatch, RecordBatchStreamWriter, Schema, type StructRowProxy } from 'apache-arrow';
import type { ByteBudget } from '../src/byte-budget.ts';
import { decodeArrow } from '../src/decode/arrow/arrow-decoder.ts';
import {
  type ByteInput,
  createByteInput,
  createFrameAssembler,
  type DecodeSteps,
  type FrameAssembler,
} from '../src/decode/decode-steps.ts';
import { decodeSchema } from '../src/decode/arrow/read-schema.ts';
import { createFrameBudget } from '../src/decode/limits.ts';

/** The result of a decoder. */
export interface DecodedBody {
  readonly schema: Schema;
  readonly batches: readonly RecordBatch[];
}

/** Options of `decodeBody`. */
export interface DecodeBodyOptions {
  readonly chunkBytes?: number;
  readonly maxBytes?: number;
}

/** Runs a decoder over a body without a worker. Its output is copied, as a transfer would do. */
export function decodeBody(
  decoder: (input: ByteInput, budget: ByteBudget) => DecodeSteps,
  body: string | Uint8Array,
  { chunkBytes = Infinity, maxBytes = Infinity }: DecodeBodyOptions = {},
): DecodedBody {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const input = createByteInput();
  let frame: FrameAssembler | undefined;
  const batches: RecordBatch[] = [];
  let at = 0;
  for (const step of decoder(input, createFrameBudget(maxBytes))) {
    if (step.kind === 'again') at = 0;
    else if (step.kind === 'more') {
      if (at < bytes.length) input.push(bytes.slice(at, at + chunkBytes));
      else input.end();
      at += chunkBytes;
    } else if (step.kind === 'schema') {
      frame = createFrameAssembler(decodeSchema(step.message));
    } else if (step.kind !== 'working') {
      const batch = frame?.add(structuredClone(step));
      if (batch !== undefined) batches.push(batch);
    }
  }
  return { schema: frame?.schema ?? new Schema([]), batches };
}

/** Decodes an Arrow body, and returns its rows as plain objects. */
export function decodeArrowBody(
  bytes: Uint8Array,
  options: DecodeBodyOptions = {},
): DecodedBody & { readonly rows: Record<string, unknown>[] } {
  const decoded = decodeBody(decodeArrow, bytes, options);
  return { ...decoded, rows: plainRows(decoded.batches) };
}

/** Returns the error that `act` throws. */
export function refusalOf(act: () => unknown): ServiceError {
  try {
    act();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error('It was accepted.');
}

/** Returns the error of the Arrow decoder for a body. */
export function arrowRefusal(bytes: Uint8Array, options: DecodeBodyOptions = {}): ServiceError {
  return refusalOf(() => decodeBody(decodeArrow, bytes, options));
}

/** The rows of batches as plain objects, with 64-bit integers as numbers. */
export function plainRows(batches: readonly RecordBatch[]): Record<string, unknown>[] {
  return batches.flatMap((batch) => batch.toArray().map(plainRow));
}

function plainRow(row: StructRowProxy): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row.toJSON()).map(([name, value]) => [name, plain(value)]));
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? Number(part) : part)));
}

/** Encodes batches as an Arrow stream. */
export function streamOf(...batches: RecordBatch[]): Uint8Array {
  const writer = new RecordBatchStreamWriter();
  for (const batch of batches) writer.write(batch);
  return writer.finish().toUint8Array(true);
}
