import type { DuckDBConnection } from '@duckdb/node-api';

/** Gives long reads a larger streaming buffer. */
export interface LongReads {
  run<T>(connection: DuckDBConnection, read: () => Promise<T>): Promise<T>;
}

/**
 * DuckDB stops decoding when the buffer of a result is full, and resumes when it is empty. The default of 1 MB holds about
 * one row group: then only one thread decodes, and none does so while rows are copied. The setting is one of a connection.
 */
const ENLARGE_BUFFER = "SET streaming_buffer_size = '16MB'";
/** DuckDB's memory limit does not include these buffers, and a slow client keeps its own full: further reads get none. */
const MAX_LARGE_BUFFERS = 8;

/** Creates the large buffers of a child. */
export function createLongReads(): LongReads {
  let used = 0;
  return {
    async run(connection, read) {
      if (used === MAX_LARGE_BUFFERS) return read();
      used++;
      try {
        await connection.run(ENLARGE_BUFFER);
        return await read();
      } finally {
        used--;
      }
    },
  };
}
