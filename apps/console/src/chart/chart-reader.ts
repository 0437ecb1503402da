import type { Aggregate } from '../state/tabs.ts';
import type { Place, Range } from './axis.ts';
import type { Bucket } from './bucket.ts';

/** A column that a chart reads. */
export interface Field {
  readonly index: number;
  readonly name: string;
  readonly type: string;
}

/** The first and the last place of a column, and the number of rows that have one. */
export interface Extent {
  readonly range: Range;
  readonly rows: number;
}

/** The points of a line in the order of their places. The text is the exact value; null is a gap. */
export interface LinePoints {
  readonly places: readonly Place[];
  readonly texts: readonly (string | null)[];
}

/** What to read of a line. */
export interface LineRequest {
  readonly x: Field;
  readonly y: readonly Field[];
  /** The column that splits the line, and the values that are drawn. There is one `y` then. */
  readonly by?: { readonly field: Field; readonly values: readonly (string | null)[] };
  readonly range: Range;
  readonly extent: Extent;
  /** The width of the range in pixels. */
  readonly width: number;
}

/** The lines, and whether they have every row of the range. */
export interface LineAnswer {
  readonly lines: readonly LinePoints[];
  readonly isWhole: boolean;
}

/** Rows that became one: those of a value, or of a bucket. */
export interface Group {
  /** The value as text, or the number of the bucket. */
  readonly key: string | number | null;
  readonly rows: number;
  /** The exact values; null if no row has one. */
  readonly values: readonly (string | null)[];
}

/** The groups with the most rows, or the highest values, and how many there are in all. */
export interface TopGroups {
  readonly groups: readonly Group[];
  readonly total: number;
}

/** What a bar shows: the aggregate of each column, or the number of rows if there is none. */
export interface BarValues {
  readonly y: readonly Field[];
  readonly aggregate: Aggregate;
}

/** Reads what charts draw: by SQL, or from rows in memory. Both read the same values. */
export interface ChartReader {
  /** Returns undefined if no row has a place. */
  extent(x: Field): Promise<Extent | undefined>;
  line(request: LineRequest): Promise<LineAnswer>;
  /** Returns the most frequent values of a column. */
  top(field: Field, most: number): Promise<TopGroups>;
  /** Returns a group for each value of a column: those with the highest first value. */
  bars(field: Field, values: BarValues, most: number): Promise<TopGroups>;
  /** Returns a group for each bucket of a range that has rows, in order. */
  buckets(x: Field, values: BarValues, bucket: Bucket, range: Range): Promise<readonly Group[]>;
  /** Returns the first, highest, lowest and last value of each bucket; without a bucket, of each row. */
  candles(x: Field, ohlc: readonly Field[], bucket: Bucket | undefined, range: Range): Promise<readonly Candle[]>;
}

/** The open, high, low and close of a bucket, at the place where it starts or, for a row, at the row's place. */
export interface Candle {
  readonly place: Place;
  readonly rows: number;
  readonly values: readonly (string | null)[];
}
