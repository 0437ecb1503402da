import { type ArrowColumn, type ArrowTable, decodeArrow } from '../api/decode-arrow.ts';
import { type ArrowReader, arrowReader, isNull } from './arrow-text.ts';
import { type Cell, cellOfText, MAX_CELL_CHARACTERS, NULL_CELL } from './row-source.ts';

/** Rows of some columns in memory. */
export interface CellBlock {
  readonly rows: number;
  /** How much memory it takes, about. */
  readonly bytes: number;
  cell(row: number, column: number): Cell;
  /** The whole text of a value, without symbols; null for null. */
  text(row: number, column: number): string | null;
  /** As in `MemoryRows`; null and what is only a text are undefined. */
  number(row: number, column: number): number | bigint | undefined;
}

/** Decodes an Arrow stream. Throws if it is not one, or has a type the server never sends. */
export function blockFromArrow(bytes: Uint8Array): CellBlock {
  return blockFromTable(decodeArrow(bytes), bytes.byteLength);
}

/** Returns the cells of a table of `decodeArrow`. */
export function blockFromTable({ fields, rows, batches }: ArrowTable, bytes: number): CellBlock {
  const readers = fields.map(arrowReader);
  const at = (row: number, column: number): Place => {
    let low = 0;
    let high = batches.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((batches[middle]?.firstRow ?? 0) <= row) low = middle;
      else high = middle - 1;
    }
    const batch = batches[low];
    const values = batch?.columns[column];
    const reader = readers[column];
    if (values === undefined || reader === undefined || batch === undefined) {
      throw new RangeError(`There is no cell ${column} in row ${row}.`);
    }
    return { reader, values, index: row - batch.firstRow };
  };
  return {
    rows,
    bytes,
    cell: (row, column) => cellAt(at(row, column)),
    text: (row, column) => wholeTextAt(at(row, column)),
    number(row, column) {
      if (readers[column]?.number === undefined) return undefined;
      const { reader, values, index } = at(row, column);
      return isNull(values, index) ? undefined : reader.number?.(values, index);
    },
  };
}

/** Returns the cells of JSON texts, a row each: `null`, `"a text"`, `1.50`, `[1,2]`. */
export function blockFromJson(rows: readonly (readonly string[])[], bytes: number): CellBlock {
  const textAt = (row: number, column: number): string => {
    const text = rows[row]?.[column];
    if (text === undefined) throw new RangeError(`There is no cell ${column} in row ${row}.`);
    return text;
  };
  return {
    rows: rows.length,
    bytes,
    cell: (row, column) => cellOfJson(textAt(row, column)),
    text(row, column) {
      const json = textAt(row, column);
      return json === 'null' ? null : bareText(json);
    },
    number: () => undefined,
  };
}

/** Returns some rows of a block; it keeps the whole block in memory. */
export function rowsOfBlock(block: CellBlock, firstRow: number, lastRow: number): CellBlock {
  const rows = lastRow - firstRow + 1;
  if (rows >= block.rows) return block;
  return {
    rows,
    bytes: (block.bytes * rows) / block.rows,
    cell: (row, column) => block.cell(firstRow + row, column),
    text: (row, column) => block.text(firstRow + row, column),
    number: (row, column) => block.number(firstRow + row, column),
  };
}

/** Returns the cell of a value's JSON text. */
export function cellOfJson(json: string): Cell {
  if (json === 'null') return NULL_CELL;
  const text = bareText(json);
  return cellOfText(text, 'value', text.length > MAX_CELL_CHARACTERS ? ENCODER.encode(text).length : undefined);
}

const ENCODER = new TextEncoder();

/** A JSON string without its quotes and escapes; other values as they are. */
function bareText(json: string): string {
  return json.startsWith('"') ? String(JSON.parse(json)) : json;
}

interface Place {
  readonly reader: ArrowReader;
  readonly values: ArrowColumn;
  readonly index: number;
}

function cellAt({ reader, values, index }: Place): Cell {
  if (isNull(values, index)) return NULL_CELL;
  const text = reader.text(values, index, MAX_CELL_CHARACTERS);
  const bytes = text.length > MAX_CELL_CHARACTERS ? reader.byteLength?.(values, index) : undefined;
  return cellOfText(text, isNotFinite(reader, text) ? 'nan' : 'value', bytes);
}

function wholeTextAt({ reader, values, index }: Place): string | null {
  return isNull(values, index) ? null : reader.text(values, index, Number.MAX_SAFE_INTEGER / 8);
}

function isNotFinite({ isQuoted }: ArrowReader, text: string): boolean {
  return !isQuoted && (text === 'NaN' || text === 'Infinity' || text === '-Infinity');
}
