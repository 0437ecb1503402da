import { ServiceError } from '@svc/errors';
import { type DataType, Field, type Schema } from 'apache-arrow';
import type { ByteBudget } from '../byte-budget.ts';
import { createArrowBatch, readBuffers } from './arrow-batch.ts';
import { loadColumns } from './arrow-columns.ts';
import { type ArrowBody, type ArrowMessage, readArrowMessages } from './arrow-messages.ts';
import { encodeSchema, schemaFromFooter, schemaFromUpload } from './arrow-schema.ts';
import type { ColumnData } from './column-data.ts';
import type { ByteInput, DecodeStep, DecodeSteps, IsWorking } from './decode-steps.ts';
import { joinColumns, wholeColumn } from './join-columns.ts';
import { allocateCounted } from './limits.ts';
import { type BatchMerger, createBatchMerger, type HeldBatch } from './merge-batches.ts';

/** What is known of the frame so far. */
interface ArrowFrame {
  readonly schema: Schema;
  readonly dictionaries: Map<number, ColumnData>;
  readonly budget: ByteBudget;
  readonly merger: BatchMerger;
  batches: number;
}

/**
 * Decodes an Arrow IPC stream or file. A file is read like the stream it contains, front to back: so neither is in
 * memory as a whole. Some writers leave the schema out of that stream; then the batches wait for the footer.
 */
export function* decodeArrow(input: ByteInput, budget: ByteBudget): DecodeSteps {
  const waiting: ColumnsMessage[] = [];
  let frame: ArrowFrame | undefined;
  for (const message of readArrowMessages(input, budget)) {
    if (message.kind === 'more') yield message;
    else if (message.kind === 'schema') {
      if (frame !== undefined) throw new ServiceError('invalid_data', 'The Arrow data has a second schema.');
      frame = createFrame(schemaFromUpload(message.metadata), budget);
      yield { kind: 'schema', message: message.metadata };
    } else if (message.kind !== 'footer') {
      if (frame === undefined) waiting.push(message);
      else yield* decodeColumns(frame, message);
    } else if (frame === undefined) {
      frame = createFrame(schemaFromFooter(message.metadata), budget);
      yield { kind: 'schema', message: encodeSchema(frame.schema) };
    }
  }
  if (frame === undefined) throw new ServiceError('invalid_data', 'The Arrow data has no schema.');
  for (const message of waiting.splice(0)) yield* decodeColumns(frame, message);
  yield* frame.merger.flush();
}

type ColumnsMessage = Extract<ArrowMessage, { kind: 'batch' | 'dictionary' }>;

function createFrame(schema: Schema, budget: ByteBudget): ArrowFrame {
  return { schema, dictionaries: new Map(), budget, merger: createBatchMerger(schema.fields, budget), batches: 0 };
}

function* decodeColumns(frame: ArrowFrame, message: ColumnsMessage): DecodeSteps {
  if (message.kind === 'batch') yield* frame.merger.add(yield* decodeBatch(frame, message));
  else {
    // The batches before it have the dictionary as it was.
    yield* frame.merger.flush();
    yield yield* decodeDictionary(frame, message);
  }
}

/** What shows now and then that it is alive, before its result. */
type Working<Result> = Generator<IsWorking, Result, void>;

function* decodeBatch(frame: ArrowFrame, message: ArrowBody): Working<HeldBatch> {
  const { columns, heldBytes } = yield* takeApart(
    frame,
    `record batch ${++frame.batches}`,
    message,
    frame.schema.fields,
  );
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
  const name = `dictionary ${id}`;
  const { columns, heldBytes } = yield* takeApart(frame, name, message, [new Field(name, type, true)]);
  let [dictionary] = columns;
  const base = isDelta ? frame.dictionaries.get(id) : undefined;
  if (base !== undefined) {
    // The old one stays counted: batches that are in the frame already have it.
    dictionary = joinColumns(type, [wholeColumn(base), wholeColumn(dictionary)], (bytes) =>
      allocateCounted(frame.budget, bytes),
    );
    frame.budget.free(heldBytes);
  }
  frame.dictionaries.set(id, dictionary);
  return { kind: 'dictionary', id, data: dictionary };
}

function* takeApart(
  { dictionaries, budget }: ArrowFrame,
  name: string,
  { head, body }: ArrowBody,
  fields: readonly Field[],
): Working<{ readonly columns: ColumnData[]; readonly heldBytes: number }> {
  const before = budget.usedBytes - body.length;
  const buffers = yield* readBuffers(name, head, body, budget);
  const columns = loadColumns(
    createArrowBatch(name, head, buffers, budget),
    fields,
    (id) => dictionaries.get(id)?.length ?? 0,
  );
  if (head.compression !== undefined) budget.free(body.length);
  return { columns, heldBytes: budget.usedBytes - before };
}
