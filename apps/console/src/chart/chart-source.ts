import type { ColumnInfo, EngineName, FrameInfo } from '../api/types.ts';
import type { MemoryRows } from '../rows/memory-rows.ts';

/** What charts and summaries read: a frame, or the answer of a statement. */
export interface ChartSource {
  readonly columns: readonly ColumnInfo[];
  /** A SQL relation of the engine: a quoted handle, or `(select …)`, made by `subqueryOf`. */
  readonly from: string;
  readonly engine: EngineName;
  /** The frame, in the version that is shown. Undefined: an answer. */
  readonly frame?: FrameInfo;
  /**
   * The rows in memory, if they are all there: they are read instead of the relation. Engines other than `local` need
   * them, because the SQL of charts is DuckDB's.
   */
  readonly rows?: MemoryRows;
}
