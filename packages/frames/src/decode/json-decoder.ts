import type { ByteBudget } from '../byte-budget.ts';
import { encodeSchema } from './arrow-schema.ts';
import { buffersOf } from './column-data.ts';
import { type ByteInput, type DecodeSteps, type FramePiece, type IsWorking, MORE } from './decode-steps.ts';
import { columnsDataOf } from './json-batches.ts';
import type { JsonLayout } from './json-cursor.ts';
import { createJsonMemory, type JsonMemory } from './json-memory.ts';
import { createJsonRowReader, type JsonRowReader } from './json-rows.ts';
import { schemaOf } from './json-types.ts';

/** Decodes an array of objects. */
export function decodeJson(input: ByteInput, budget: ByteBudget): DecodeSteps {
  return decodeRows(input, budget, 'array');
}

/** Decodes one object a line. */
export function decodeNdjson(input: ByteInput, budget: ByteBudget): DecodeSteps {
  return decodeRows(input, budget, 'lines');
}

/**
 * The types of the columns are known only after the last row, so all of it is read before the schema comes; what is kept
 * until then are typed columns, not rows.
 */
function* decodeRows(input: ByteInput, budget: ByteBudget, layout: JsonLayout): DecodeSteps {
  const memory = createJsonMemory(budget);
  const reader = createJsonRowReader(memory, layout);
  for (let chunk = input.next(); chunk !== undefined || !input.ended; chunk = input.next()) {
    if (chunk === undefined) yield MORE;
    else reader.push(chunk);
  }
  reader.end();
  yield { kind: 'schema', message: encodeSchema(schemaOf(reader.columns)) };
  for (let batch = yield* nextBatch(reader, memory); batch !== undefined; batch = yield* nextBatch(reader, memory)) {
    yield batch;
  }
}

/** The first group as a batch. The group is let go: what stays counted is what the batch takes. */
function* nextBatch(reader: JsonRowReader, memory: JsonMemory): Generator<IsWorking, FramePiece | undefined, void> {
  const group = reader.groups.shift();
  if (group === undefined) return undefined;
  const { rows } = group;
  memory.groupBytes = group.bytes;
  const columns = yield* columnsDataOf(reader.columns, group.columns, rows);
  let bytes = 0;
  for (const buffer of buffersOf(columns)) bytes += buffer.byteLength;
  memory.budget.free(memory.groupBytes - bytes);
  return { kind: 'batch', rows, columns };
}
