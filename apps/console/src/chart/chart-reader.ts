import type { Aggregate } from '../state/tabs.ts';
import type { Range } from './axis.ts';
import type { Bucket } from './ticks.ts';
import type { ColumnInfo, EngineName, FrameInfo } from '../api/api.ts';
import type { AnswerTable } from '../api/statements.ts';
import type { MemoryRows } from '../rows/row-source.ts';

/** A column of a chart or a summary. */
export interface Field {
  readonly index: number;
  readonly name: string;
  readonly type: string;
}

/** The first and the last place of a column, and the number of rows with a place. */
export interface Extent {
  readonly range: Range;
  readonly rows: number;
}

/** The columns of a line. */
export interface LineFields {
  readonly x: Field;
  readonly y: readonly Field[];
  /** The column splitting the line, and the drawn values; null is a value, too. There is one `y` then. */
  readonly by?: { readonly field: Field; readonly values: readonly (string | null)[] };
}

/** What to read of a line. */
export interface LineRequest extends LineFields {
  readonly range: Range;
  readonly extent: Extent;
  /** The width of the range in pixels. */
  readonly width: number;
}

/** The points of a line: rows of places and values, as the SQL in `chart-sql.ts` returns them. */
export interface LineSource {
  /** Returns the rows of `m4Sql`. */
  pixels(range: Range, width: number, margin: Range): Promise<Rows>;
  /** Returns the rows of `pointsInOrderSql`. */
  points(margin: Range, limit: number): Promise<Rows>;
  /** Returns the rows of `edgesSql`. */
  edges(margin: Range): Promise<Rows>;
}

type Rows = AnswerTable['rows'];

/** What a group has of a column: an aggregate, or the value at its first or last place. */
export interface GroupValue {
  readonly field: Field;
  readonly aggregate: Aggregate | 'first' | 'last';
}

/** Rows with one value, or of one bucket, together. */
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

/** The figures of a column. */
export interface Figures {
  readonly rows: number;
  readonly nulls: number;
  readonly distinct: number;
  /** The exact texts; null if there are none. */
  readonly min: string | null;
  readonly max: string | null;
  readonly mean: string | null;
  /** Values of NaN or infinity; they are in no other figure but `rows` and `distinct`. */
  readonly notFinite: number;
}

/** Answers what charts and summaries ask: by SQL, or from rows in memory. Both read the same values. */
export interface ChartReader {
  figures(field: Field): Promise<Figures>;
  /** Returns undefined if no row has a place. */
  extent(x: Field): Promise<Extent | undefined>;
  line(fields: LineFields): LineSource;
  /**
   * Returns a group for each value of a column: those with the highest first value or, without values, with the most rows.
   * Keys are cut to `maxLabel` characters.
   */
  bars(field: Field, values: readonly GroupValue[], most: number, maxLabel?: number): Promise<TopGroups>;
  /** Returns a group for each bucket with rows in a range, in order. */
  buckets(x: Field, values: readonly GroupValue[], bucket: Bucket, range: Range): Promise<readonly Group[]>;
}

/** What charts and summaries read: a frame, or the answer of a statement. */
export interface ChartSource {
  readonly columns: readonly ColumnInfo[];
  /** A SQL relation of the engine: a quoted handle, or `(select …)`, made by `subqueryOf`. */
  readonly from: string;
  readonly engine: EngineName;
  /** The frame in the version on the page. Undefined: an answer. */
  readonly frame?: FrameInfo;
  /**
   * The rows in memory, if they are all there: they are read instead of the relation. Engines other than `local` need
   * them, because the SQL of charts is DuckDB's.
   */
  readonly rows?: MemoryRows;
}
