import type { DictionaryValues } from './dictionary-values.ts';

/** The last dictionary of each id, with what is written of it so far: the next batch has mostly the same. */
export type WrittenDictionaries = Map<number, DictionaryValues>;

/** How values are written as JSON: texts in quotes, `null` where there is no value. */
export interface JsonCells {
  readonly syntax: 'json';
  /** LONG, ULONG and LONG128 as strings, for clients that read JSON numbers as doubles. */
  readonly quoteLargeNum: boolean;
  readonly dictionaries: WrittenDictionaries;
}

/** How values are written as CSV: texts bare where they can be, nothing where there is no value. */
export interface CsvCells {
  readonly syntax: 'csv';
  readonly dictionaries: WrittenDictionaries;
  /** How what is inside of a nested value is written. */
  readonly nested: JsonCells;
}

/** How values are written. */
export type CellOptions = JsonCells | CsvCells;
