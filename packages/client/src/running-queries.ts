import type { ClientRequest, ClientResponse, SingleRequest, Transport } from './http/request.ts';
import type { CallOptions } from './options.ts';
import type { RunningQuery } from './types.ts';
import { readJson } from './http/read-json.ts';
import { uniqueId } from './http/unique-id.ts';

type Http = Transport<SingleRequest>;

/** Lists the SQL that runs. */
export async function listRunning(http: Http, options: CallOptions = {}): Promise<readonly RunningQuery[]> {
  const { queries } = await readJson<{ readonly queries: readonly RunningQuery[] }>(
    await http.send({ path: 'queries', ...options }),
  );
  return queries;
}

/** Ends the SQL of a request. Returns whether it ran. */
export async function cancelQuery(http: Http, id: string, options: CallOptions = {}): Promise<boolean> {
  const path = `queries/${encodeURIComponent(id)}`;
  const { status, body } = await http.send({ method: 'DELETE', path, ...options, accept: [404] });
  await body.return();
  return status === 204;
}

const PROGRESS_MS = 500;

/** A response to SQL. */
export interface SqlResponse {
  readonly response: ClientResponse;
  /** Ends the SQL on the server, if its rows are not needed any more. */
  readonly end: () => void;
}

/** Sends a request with SQL. If it is aborted, the SQL ends too, also behind a proxy that keeps its own connection. */
export async function sendSql(
  http: Transport,
  request: ClientRequest,
  onProgress?: (query: RunningQuery) => void,
): Promise<SqlResponse> {
  const { requestId = uniqueId() } = request;
  let isEnded = false;
  const end = (): void => {
    // If the server does not answer, the closed connection has to tell it.
    if (!isEnded) endQuery(http, requestId).catch(() => undefined);
    isEnded = true;
  };
  const answered = new AbortController();
  if (onProgress !== undefined) void reportProgress(http, requestId, onProgress, answered.signal);
  try {
    return { response: await http.send({ ...request, requestId, onAbort: end }), end };
  } finally {
    answered.abort();
  }
}

/** Ends SQL if it still runs. A request for SQL that has ended would be a 404, which browsers report as an error of the page. */
async function endQuery(http: Transport, id: string): Promise<void> {
  const running = await listRunning(http);
  if (running.some((query) => query.id === id)) await cancelQuery(http, id);
}

async function reportProgress(
  http: Transport,
  id: string,
  report: (query: RunningQuery) => void,
  until: AbortSignal,
): Promise<void> {
  while (!until.aborted) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, PROGRESS_MS);
      until.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
    });
    // Not to know the progress is no reason to end the query.
    const running = until.aborted ? [] : await listRunning(http, { signal: until }).catch(() => []);
    const query = running.find((one) => one.id === id);
    if (query !== undefined && !until.aborted) report(query);
  }
}
