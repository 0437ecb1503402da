import { startProcess, type ServerProcess } from './server-process.ts';

/** The rows of the frame trades. */
const ROWS = Array.from({ length: 100 }, (_, i) => ({ id: i, symbol: i % 2 === 0 ? 'AB' : 'CD', price: i / 4 }));

/** The path of a statement. */
export function target(path: string, sql: string, more: Readonly<Record<string, string>> = {}): string {
  return `${path}?${new URLSearchParams({ query: sql, engine: 'local', fmt: 'json', ...more }).toString()}`;
}

/** The answer to a statement. */
export async function ask(
  server: ServerProcess,
  sql: string,
  more: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const response = await server.fetch(target('/exec', sql, more));
  const body = (await response.json()) as { dataset?: unknown };
  return body.dataset ?? [response.status, body];
}

/** A server with the frame trades. */
export async function startWithTrades(options: Parameters<typeof startProcess>[0] = {}): Promise<ServerProcess> {
  const server = await startProcess(options);
  await server.put('trades', ROWS);
  return server;
}
