import { expect } from 'vitest';
import type { ServerProcess } from '../../apps/server/test/server-process.ts';

/** A statement that runs for minutes. */
export const LONG_SQL = 'select count(*) from range(1000000) a, range(1000000) b where a.range * b.range % 7 = 3';

/** Makes a frame of a statement. */
export async function keep(server: ServerProcess, handle: string, sql: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ sql, engine: 'local', handle });
  expect((await server.fetch('/frames', { method: 'POST', headers, body })).status).toBe(201);
}
