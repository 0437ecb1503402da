import { ServiceError } from '@svc/errors';
import type { RecordBatch, Schema } from 'apache-arrow';
import type { ByteBudget } from '../byte-budget.ts';
import type { FrameStream } from '../streams.ts';
import { decodeArrowResult } from './arrow/arrow-decoder.ts';
import { decodeSchema, schemaFromResult } from './arrow/read-schema.ts';
import {
  type ByteInput,
  createByteInput,
  createFrameAssembler,
  type DecodeSteps,
  type FrameAssembler,
  type FramePart,
  transfer,
} from './decode-steps.ts';
import { decodeNdjson } from './json/json-decoder.ts';
import { createFrameBudget } from './limits.ts';

/** Options of `decodeArrowHere`. */
export interface DecodeHereOptions {
  /** The most bytes of a batch with its dictionaries, decompressed; more is `out_of_memory`. */
  readonly maxBytes: number;
}

/**
 * Decodes an Arrow stream in the calling thread: for the results of a server the operator chose. Uploads of clients go
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
 * Creates a frame of one row from JSON values and the columns they are for; the values are converted as those of an
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
