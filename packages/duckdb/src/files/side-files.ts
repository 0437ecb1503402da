/** The file of the rows that need other options than the first. */
export function tailOf(path: string): string {
  return `${path}.tail`;
}

/** The Parquet file that an Arrow file is written from if its source has dictionaries. */
export function plainOf(path: string): string {
  return `${path}.plain`;
}

/** A Parquet file that is being written, and the file beside it. */
export function filesOfParquet(path: string): readonly string[] {
  return [path, tailOf(path)];
}

/** A file of any format that is being written, and the files beside it, which are gone when it is complete. */
export function filesOfEncoding(path: string): readonly string[] {
  return [path, plainOf(path)].flatMap(filesOfParquet);
}
