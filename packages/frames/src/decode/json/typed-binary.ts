import type { ColumnData, Values } from '../../columns/column-data.ts';
import { TAG, type TypedSegment } from './json-column.ts';
import { allocateCounted, trimmed } from './json-memory.ts';
import { stringAt } from './json-text.ts';
import { misfitAt, requireKinds } from './misfit.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Calls `put` for each string, which returns whether it fits. */
function forEachText({ column, target, segment }: TypedSegment, put: (text: string, row: number) => boolean): void {
  if (segment === undefined) return;
  requireKinds(column, target, segment, 1 << TAG.string);
  for (let row = 0; row < segment.tags.length; row++) {
    if (segment.tags[row] !== TAG.string) continue;
    if (!put(stringAt(segment, row), row)) throw misfitAt(column, target, segment, row);
  }
}

/** Decodes base64; undefined if the text is not exactly what an encoder writes. */
function bytesOf(text: string): Buffer | undefined {
  if (!BASE64.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** Creates the buffers of a column of binary values from base64. */
export function base64Of(typed: TypedSegment): Pick<ColumnData, 'values' | 'offsets'> {
  const { column, segment, rows } = typed;
  const { memory } = column;
  const offsets = new Int32Array(allocateCounted(memory, 4 * (rows + 1)).buffer);
  const values = allocateCounted(memory, Math.ceil((segment?.text.length ?? 0) * 0.75));
  let end = 0;
  let next = 0;
  forEachText(typed, (text, row) => {
    const bytes = bytesOf(text);
    if (bytes === undefined) return false;
    offsets.fill(end, next, row + 1);
    values.set(bytes, end);
    end += bytes.length;
    next = row + 1;
    return true;
  });
  offsets.fill(end, next);
  return { offsets, values: trimmed(memory, Uint8Array, values, end) };
}

/** Creates the values of a column of binary values of one length, from base64. */
export function fixedBinaryOf(typed: TypedSegment, byteWidth: number): Values {
  const values = allocateCounted(typed.column.memory, byteWidth * typed.rows);
  forEachText(typed, (text, row) => {
    const bytes = bytesOf(text);
    if (bytes?.length !== byteWidth) return false;
    values.set(bytes, byteWidth * row);
    return true;
  });
  return values;
}

/** Creates the values of a column of UUIDs. */
export function uuidsOf(typed: TypedSegment): Values {
  const values = allocateCounted(typed.column.memory, 16 * typed.rows);
  forEachText(typed, (text, row) => {
    if (!UUID.test(text)) return false;
    values.set(Buffer.from(text.replaceAll('-', ''), 'hex'), 16 * row);
    return true;
  });
  return values;
}
