import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { DataType, Field, type Schema } from 'apache-arrow';
import { typeOf } from '../../arrow-types.ts';
import type { ByteBudget } from '../../byte-budget.ts';
import { encodeSchema } from './arrow-schema-message.ts';
import { type ArrowBatchHead, createArrowBatch, readBuffers } from './arrow-batch.ts';
import { hasBytesBehindOffsets, loadColumns } from './arrow-columns.ts';
import type { ArrowBody, ArrowMessage } from './arrow-message.ts';
import { readArrowMessages } from './arrow-messages.ts';
import { schemaFromFooter, schemaFromParameters, schemaFromResult, schemaFromUpload } from './arrow-schema.ts';
import type { ColumnData } from '../../columns/column-data.ts';
import type { ByteInput, DecodeStep, DecodeSteps, IsWorking } from '../decode-steps.ts';
import { joinColumns, wholeColumn } from '../../columns/join-columns.ts';
import { allocateCounted } from '../limits.ts';
import { unionsAsStructs } from '../unions/union-schema.ts';
import { type Batch, type BatchMerger, createBatchMerger } from './merge-batches.ts';

/** The state of a frame being decoded. */
interface ArrowFrame {
  /** The columns as they are sent, with unions. */
  readonly fields: readonly Field[];
  /** The schema of the batches that are passed on. */
  readonly schema: Schema;
  readonly dictionaries: Map<number, ColumnData>;
  readonly budget: ByteBudget;
  readonly merger: BatchMerger;
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
  return hasBytesBehindOffsets(type) && nodes.length === 2 && buffers.length === 4;
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
