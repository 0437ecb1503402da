import type { Data, Vector } from 'apache-arrow';
import type { ColumnWriter } from './cell-writer.ts';

/** The values of a dictionary as they are written. */
export interface DictionaryValues {
  readonly dictionary: Vector | undefined;
  /** The bytes of the value at an index. */
  at(index: number): Uint8Array;
}

/** The values of a dictionary. Each is written once, when it is first met. */
export function createDictionaryValues(
  dictionary: Vector | undefined,
  createColumnWriter: (data: Data) => ColumnWriter,
): DictionaryValues {
  const parts = (dictionary?.data ?? []).map((part) => ({ length: part.length, column: createColumnWriter(part) }));
  const written: Uint8Array[] = [];
  let scratch = new Uint8Array(1024);

  function writeValue(index: number): Uint8Array {
    let row = index;
    for (const { length, column } of parts) {
      if (row >= 0 && row < length) {
        const bytes = column.fixedBytes + (column.variableBytes?.(row) ?? 0);
        if (bytes > scratch.length) scratch = new Uint8Array(bytes);
        return scratch.slice(0, column.write(scratch, 0, row));
      }
      row -= length;
    }
    throw new RangeError('A dictionary index is outside of its dictionary.');
  }

  return { dictionary, at: (index) => (written[index] ??= writeValue(index)) };
}
