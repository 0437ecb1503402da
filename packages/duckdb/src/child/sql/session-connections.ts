import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';

/** The connections of sessions, each with progress turned on. An idle one is used again. */
export interface SessionConnections {
  take(): Promise<DuckDBConnection>;
  /** Keeps an idle connection for the next session; closes one whose statement may still run. */
  release(connection: DuckDBConnection, isIdle: boolean): void;
}

/** Settings of a connection, which no lock prevents. They take longer than a new connection does: hence the reuse. */
const TRACK_PROGRESS = 'PRAGMA enable_progress_bar; PRAGMA disable_print_progress_bar';

/** Creates the connections of an instance, none of them open. */
export function createSessionConnections(instance: DuckDBInstance): SessionConnections {
  let spare: DuckDBConnection | undefined;
  return {
    async take() {
      const found = spare;
      spare = undefined;
      if (found !== undefined) return found;
      const connection = await instance.connect();
      await connection.run(TRACK_PROGRESS);
      return connection;
    },
    release(connection, isIdle) {
      if (isIdle && spare === undefined) spare = connection;
      else connection.disconnectSync();
    },
  };
}
