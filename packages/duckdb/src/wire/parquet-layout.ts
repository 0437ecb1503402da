/** A column chunk: the bytes of one column in one row group. A nested column joins its adjacent leaves. */
export interface ColumnChunk {
  readonly start: number;
  readonly end: number;
  /** The index of its row group. */
  readonly group: number;
  /** The index of its top-level column. */
  readonly column: number;
}

/** The byte layout of a Parquet file. */
export interface ParquetLayout {
  /** In file order. */
  readonly chunks: readonly ColumnChunk[];
  /** The number of rows in each row group. */
  readonly groupRows: readonly number[];
}
