/** The bytes of one column in one row group: of a nested column those of all its leaves that follow each other. */
export interface ColumnChunk {
  readonly start: number;
  readonly end: number;
  /** The position of its row group. */
  readonly group: number;
  /** The position of its column at the top of the schema. */
  readonly column: number;
}

/** Where a Parquet file has what. */
export interface ParquetLayout {
  /** In the order of the file. */
  readonly chunks: readonly ColumnChunk[];
  /** How many rows each row group has. */
  readonly groupRows: readonly number[];
}
