import { PREFIX_BYTES, prefixOf } from '@svc/arrow';
import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { DataType, Field, type Schema } from 'apache-arrow';
import { typeOf } from '../../column-types.ts';
import type { ByteBudget } from '../../byte-budget.ts';
import { type ColumnData, isBytesWithOffsets } from '../../columns/column-data.ts';
import { joinColumns, wholeColumn } from '../../columns/join-columns.ts';
import { type ByteInput, type DecodeStep, type DecodeSteps, type IsWorking, readBytes } from '../decode-steps.ts';
import { allocateCounted } from '../limits.ts';
import { unionsAsStructs } from '../unions.ts';
import { type ArrowBatchHead, createArrowBatch, readBuffers } from './batch-buffers.ts';
import { loadColumns } from './batch-columns.ts';
import {
  type ArrowBody,
  type ArrowMessage,
  cut,
  invalid,
  isFileStart,
  readArrowFile,
  readBody,
  type Reading,
  readMetadata,
} from './messages.ts';
import { encodeSchema } from './write-schema.ts';
import { schemaFromFooter, schemaFromParameters, schemaFromResult, schemaFromUpload } from './read-schema.ts';

/** The state of a frame being decoded. */
interface ArrowFrame {
  /** The columns as they are sent, with unions. */
  readonly fields: readonly Field[];
  /** The schema of the batches that are passed on. */
  readonly schema: Schema;
  readonly dictionaries: Map<number, ColumnData>;
  readonly budget: ByteBudget;
  readonly merger: ReturnType<typeof createBatchMerger>;
  batches: number;
}

/**
 * Decodes an Arrow IPC stream or file. A stream, or a file that starts with its schema, is decoded incrementally and is
 * never in memory as a whole. A file with its schema only in the footer is buffered until the footer arrives. `unions`:
 * whether a stream may have unions, which are passed on as the structs of `unionsAsStructs`.
 */
export function decodeArrow(input: ByteInput, budget: ByteBudget, { unions = false } = {}): DecodeSteps {
  return decodeMessages(input, budget, unions ? schemaFromParameters : schemaFromUpload);
}

/** Decodes the same for the result of a query, which can have several columns of one name. */
export function decodeArrowResult(input: ByteInput, budget: ByteBudget): DecodeSteps {
  return decodeMessages(input, budget, schemaFromResult);
}

function* decodeMessages(input: ByteInput, budget: ByteBudget, readSchema: typeof schemaFromUpload): DecodeSteps {
  let frame: ArrowFrame | undefined;
  for (const message of readArrowMessages(input, budget)) {
    if (message.kind === 'more') yield message;
    else if (message.kind === 'schema' || message.kind === 'footer') {
      if (frame !== undefined) throw new ServiceError('invalid_data', 'The Arrow data has a second schema.');
      const isMessage = message.kind === 'schema';
      frame = createFrame(isMessage ? readSchema(message.metadata) : schemaFromFooter(message.metadata), budget);
      yield { kind: 'schema', message: isMessage ? message.metadata : encodeSchema(frame.schema) };
    } else if (frame === undefined) throw withoutSchema();
    else yield* decodeColumns(frame, message);
  }
  if (frame === undefined) throw withoutSchema();
  yield* frame.merger.flush();
}

function withoutSchema(): ServiceError {
  return new ServiceError('invalid_data', 'The Arrow data has no schema.');
}

type ColumnsMessage = Extract<ArrowMessage, { kind: 'batch' | 'dictionary' }>;

function createFrame(sent: Schema, budget: ByteBudget): ArrowFrame {
  const schema = unionsAsStructs(sent);
  return {
    fields: sent.fields,
    schema,
    dictionaries: new Map(),
    budget,
    merger: createBatchMerger(schema.fields, budget),
    batches: 0,
  };
}

function* decodeColumns(frame: ArrowFrame, message: ColumnsMessage): DecodeSteps {
  if (message.kind === 'batch') yield* frame.merger.add(yield* decodeBatch(frame, message));
  else {
    // The batches before it use the previous dictionary.
    yield* frame.merger.flush();
    yield yield* decodeDictionary(frame, message);
  }
}

/** A generator that reports progress before its result. */
type Working<Result> = Generator<IsWorking, Result, void>;

function* decodeBatch(frame: ArrowFrame, message: ArrowBody): Working<Batch> {
  const { columns, heldBytes } = yield* takeApart(frame, `record batch ${++frame.batches}`, message, frame.fields);
  return { kind: 'batch', rows: message.head.rows, columns, heldBytes };
}

function* decodeDictionary(
  frame: ArrowFrame,
  message: ArrowBody & { id: number; isDelta: boolean },
): Working<DecodeStep> {
  const { id, isDelta } = message;
  const type: DataType | undefined = frame.schema.dictionaries.get(id);
  if (type === undefined) {
    throw new ServiceError('invalid_data', `The Arrow data has a dictionary ${id} that no column uses.`);
  }
  const { name } = frame.schema.fields.find((field) => hasDictionary(typeOf(field), id)) ?? { name: '' };
  if (hasIndicesAsValues(type, message.head)) throw dictionaryOfDictionaries(name);
  const fields = [new Field(name, type, true)];
  const { columns, heldBytes: ownBytes } = yield* takeApart(frame, `dictionary ${id}`, message, fields);
  let [dictionary] = columns;
  let heldBytes = ownBytes;
  const base = isDelta ? frame.dictionaries.get(id) : undefined;
  if (base !== undefined) {
    // The old one stays counted: batches that were already emitted use it.
    const before = frame.budget.usedBytes;
    dictionary = joinColumns(type, [wholeColumn(base), wholeColumn(dictionary)], {
      allocate: (bytes) => allocateCounted(frame.budget, bytes),
      tooLarge: (what) =>
        new ServiceError('invalid_data', `Dictionary ${id} of the Arrow data is too large: ${what}.`, {
          hint: 'Use large utf8 or large binary as the type of its values.',
        }),
    });
    heldBytes = frame.budget.usedBytes - before;
    frame.budget.free(ownBytes);
  }
  frame.dictionaries.set(id, dictionary);
  return { kind: 'dictionary', id, data: dictionary, heldBytes };
}

function hasDictionary(type: DataType, id: number): boolean {
  if (DataType.isDictionary(type)) return type.id === id;
  const children: readonly Field[] = type.children ?? [];
  return children.some((child) => hasDictionary(typeOf(child), id));
}

/**
 * The format cannot declare a dictionary of dictionaries: writers declare the innermost value type, and send indices.
 */
function hasIndicesAsValues(type: DataType, { nodes, buffers }: ArrowBatchHead): boolean {
  return isBytesWithOffsets(type) && nodes.length === 2 && buffers.length === 4;
}

function dictionaryOfDictionaries(name: string): ServiceError {
  const message = `Column ${quoted(name)} has the Arrow type dictionary of dictionaries, which this server does not support.`;
  return new ServiceError('invalid_data', message, { hint: 'Cast it to a dictionary of plain values.' });
}

function* takeApart(
  { dictionaries, budget }: ArrowFrame,
  name: string,
  { head, body }: ArrowBody,
  fields: readonly Field[],
): Working<{ readonly columns: ColumnData[]; readonly heldBytes: number }> {
  const before = budget.usedBytes - body.length;
  const buffers = yield* readBuffers(name, head, body, budget);
  const columns = loadColumns(createArrowBatch(name, head, buffers, budget), fields, (id) => dictionaries.get(id));
  if (head.compression !== undefined) budget.free(body.length);
  return { columns, heldBytes: budget.usedBytes - before };
}

/**
 * Reads the messages of an Arrow stream or file. A stream may lack its end marker, but must not end inside a message;
 * nothing may follow the end marker.
 */
function* readArrowMessages(input: ByteInput, budget: ByteBudget): Reading<void> {
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

type Batch = Extract<DecodeStep, { kind: 'batch' }>;

// A batch with this many rows or bytes is large enough.
const ENOUGH_ROWS = 65_536;
const ENOUGH_BYTES = 1 << 20;

/** The maximum number of buffered columns: each is an object, even without bytes. */
const MAX_WAITING_COLUMNS = 1 << 17;

/**
 * Merges small batches into larger ones: a frame of very many tiny batches would be slow to read. Rows keep their order;
 * batches without rows are dropped.
 */
function createBatchMerger(fields: readonly Field[], budget: ByteBudget) {
  let waiting: Batch[] = [];
  let rows = 0;
  let bytes = 0;

  function flush(): readonly Batch[] {
    const batches = waiting;
    if (batches.length === 0) return [];
    const [first] = batches;
    const merged = batches.length === 1 ? first : joined(batches);
    waiting = [];
    rows = 0;
    bytes = 0;
    return [merged];
  }
  function joined(batches: readonly Batch[]): Batch {
    const before = budget.usedBytes;
    const columns: readonly ColumnData[] = fields.map((field, i) =>
      joinColumns(
        typeOf(field),
        batches.map((batch) => wholeColumn(batch.columns[i])),
        {
          allocate: (size) => allocateCounted(budget, size),
          tooLarge: (what) =>
            new ServiceError('invalid_data', `Column ${quoted(field.name)}: ${what}.`, {
              hint: 'Send it in larger batches, or with the type large utf8, large binary or large list.',
            }),
        },
      ),
    );
    const heldBytes = budget.usedBytes - before;
    budget.free(bytes);
    return { kind: 'batch', rows, columns, heldBytes };
  }
  return {
    /** Returns the batches that are complete. */
    add(batch: Batch): readonly Batch[] {
      if (batch.rows === 0) {
        budget.free(batch.heldBytes);
        return [];
      }
      const isLarge = 2 * batch.rows >= ENOUGH_ROWS || 2 * batch.heldBytes >= ENOUGH_BYTES;
      if (isLarge) return [...flush(), batch];
      waiting.push(batch);
      rows += batch.rows;
      bytes += batch.heldBytes;
      const isEnough = rows >= ENOUGH_ROWS || bytes >= ENOUGH_BYTES;
      return isEnough || waiting.length * fields.length >= MAX_WAITING_COLUMNS ? flush() : [];
    },
    flush,
  };
}
