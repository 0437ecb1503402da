import type { RecordBatch, Schema } from 'apache-arrow';
import type { ByteBudget } from '../byte-budget.ts';
import type { FrameStream } from '../frame-stream.ts';
import { decodeArrowResult } from './arrow/arrow-decoder.ts';
import { decodeSchema, schemaFromResult } from './arrow/arrow-schema.ts';
import { type ByteInput, createByteInput, type DecodeSteps, type FramePart } from './decode-steps.ts';
import { decodeNdjson } from './json/json-decoder.ts';
import { createFrameBudget } from './limits.ts';
import { createFrameAssembler } from './worker/frame-assembler.ts';
import { transfer } from './worker/transfer.ts';

/** Options of `decodeArrowHere`. */
export interface DecodeHereOptions {
  /** The most bytes of a batch with its dictionaries, decompressed; more is `out_of_memory`. */
  readonly maxBytes: number;
}

/**
 * Decodes an Arrow stream in the calling thread: for the results of a server that the operator chose. Uploads of clients go
 * through `Decoders`, which can end a decoder. Resolves when the schema is known. Columns with the same name get numbers.
 * The next bytes are read only when the batches before them were taken.
 */
export function decodeArrowHere(
  body: AsyncIterable<Uint8Array>,
  { maxBytes }: DecodeHereOptions,
): Promise<FrameStream> {
  return decodeHere(body, { maxBytes, readSchema: schemaFromResult, decode: decodeArrowResult });
}

/**
 * Creates a frame of one row from JSON values and the columns that they are for; the values are converted as those of an
 * upload. A value that does not fit is `invalid_data`.
 */
export function decodeRowHere(schema: Schema, values: readonly unknown[]): Promise<FrameStream> {
  const names = schema.fields.map(({ name }) => name);
  const row = JSON.stringify(Object.fromEntries(names.map((name, i) => [name, values[i] ?? null])));
  const body = (async function* () {
    yield Buffer.from(row);
  })();
  return decodeRowsHere(schema, body);
}

/** Decodes NDJSON as the columns of a schema. A value that does not fit exactly is `invalid_data` with its row. */
export function decodeRowsHere({ fields }: Schema, body: AsyncIterable<Uint8Array>): Promise<FrameStream> {
  const target = { names: fields.map(({ name }) => name), fields, isStrict: true };
  return decodeHere(body, {
    maxBytes: Infinity,
    readSchema: decodeSchema,
    decode: (input, budget) => decodeNdjson(input, budget, { target }),
  });
}

interface Decoding extends DecodeHereOptions {
  /** Reads the schema message of the decoder. */
  readonly readSchema: (message: Uint8Array) => Schema;
  readonly decode: (input: ByteInput, budget: ByteBudget) => DecodeSteps;
}

async function decodeHere(
  body: AsyncIterable<Uint8Array>,
  { maxBytes, readSchema, decode }: Decoding,
): Promise<FrameStream> {
  const input = createByteInput();
  const budget = createFrameBudget(maxBytes);
  const steps = transfer(decode(input, budget), budget);
  const chunks = body[Symbol.asyncIterator]();

  async function nextPart(): Promise<FramePart | undefined> {
    for (;;) {
      const { value, done } = steps.next();
      if (done === true) return undefined;
      if (value.kind === 'more') {
        const chunk = await chunks.next();
        if (chunk.done === true) input.end();
        else input.push(chunk.value);
      } else if (value.kind !== 'working' && value.kind !== 'again') return value;
    }
  }

  async function* batches(assemble: (part: FramePart) => RecordBatch | undefined) {
    try {
      for (let part = await nextPart(); part !== undefined; part = await nextPart()) {
        const batch = assemble(part);
        if (batch !== undefined) yield batch;
      }
    } finally {
      await chunks.return?.();
    }
  }

  try {
    const first = await nextPart();
    if (first?.kind !== 'schema') throw new Error('The first step of a decoder was not a schema.');
    const frame = createFrameAssembler(readSchema(first.message));
    return { schema: frame.schema, batches: batches((part) => frame.add(part)) };
  } catch (error) {
    await chunks.return?.();
    throw error;
  }
}
