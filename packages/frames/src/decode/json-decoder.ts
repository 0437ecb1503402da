import type { ByteBudget } from '../byte-budget.ts';
import { encodeSchema } from './arrow-schema.ts';
import { buffersOf } from './column-data.ts';
import { type ByteInput, type DecodeSteps, MORE } from './decode-steps.ts';
import { columnDataOf } from './json-batches.ts';
import { createJsonRowReader } from './json-rows.ts';
import { schemaOf } from './json-types.ts';
import { createFrameBudget } from './limits.ts';

/**
 * Decodes an array of objects. The types of the columns are known only after the last row, so all of it is read before
 * the schema comes; what is kept until then are typed columns, not rows.
 */
export function* decodeJson(input: ByteInput, budget: ByteBudget): DecodeSteps {
  const reader = createJsonRowReader(budget);
  for (let chunk = input.next(); chunk !== undefined || !input.ended; chunk = input.next()) {
    if (chunk === undefined) yield MORE;
    else reader.push(chunk);
  }
  reader.end();
  yield { kind: 'schema', message: encodeSchema(schemaOf(reader.columns)) };
  const frame = createFrameBudget(budget.maxBytes);
  for (let group = reader.groups.shift(); group !== undefined; group = reader.groups.shift()) {
    const { rows, columns: segments } = group;
    const columns = reader.columns.map((column, i) => columnDataOf(column, segments[i], rows));
    for (const buffer of buffersOf(columns)) frame.take(buffer.byteLength);
    yield { kind: 'batch', rows, columns };
  }
}
