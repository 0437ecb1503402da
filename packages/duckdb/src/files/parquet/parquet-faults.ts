/** The messages of DuckDB, which contain paths, and of the child about Parquet files, and what they mean. */
const PARQUET_FAULTS: readonly (readonly [pattern: RegExp, fault: string])[] = [
  [/too small to be a Parquet file/i, 'it is too short'],
  [/No magic bytes/i, 'it does not end with the bytes PAR1'],
  [/is not a Parquet file/, 'it does not end with a footer'],
  [/encrypted/i, 'it is encrypted'],
  [/Footer length error/i, 'the length of its footer is wrong'],
  [/enough bytes|bytes from location/i, 'it is truncated, or its footer points outside it'],
  [/decompress/i, 'a part of it cannot be decompressed'],
  [/TProtocolException|Out of buffer/i, 'its footer or a page is malformed'],
];

/** Says why DuckDB cannot read a Parquet file; undefined if its message is not known. */
export function parquetFault(message: string): string | undefined {
  return PARQUET_FAULTS.find(([pattern]) => pattern.test(message))?.[1];
}
