/** The files of the rows that need other options than the first, which are written in two lanes. */
export function tailsOf(path: string): readonly string[] {
  return ['tail', 'tail-2'].map((suffix) => `${path}.${suffix}`);
}

/** The Parquet file that an Arrow file is written from if its source has dictionaries. */
export function plainOf(path: string): string {
  return `${path}.plain`;
}

/** A Parquet file that is being written, and the files beside it. */
export function filesOfParquet(path: string): readonly string[] {
  return [path, ...tailsOf(path)];
}

/** A file of any format that is being written, and the files beside it, which are gone when it is complete. */
export function filesOfEncoding(path: string): readonly string[] {
  return [path, plainOf(path)].flatMap(filesOfParquet);
}
