import { readFileSync } from 'node:fs';
import type { Config } from '@svc/config';
import { createTsdbProxy } from '@svc/tsdb-proxy';
import { CliError } from '../errors/cli-error.ts';
import { readResponse } from '../client/client.ts';
import { SHORT_TABLE } from '../client/server-responses.ts';
import { type Diagnosis, TIMEOUT_MS } from './diagnosis.ts';

const NAME = 'The time-series database';
const MAX_BYTES = 64 * 1024;

/** Checks that the time-series database answers, in the same way as the server queries it. */
export async function checkUpstream({ tsdb, scheduler }: Config, signal: AbortSignal): Promise<Diagnosis> {
  if (tsdb.http_url === undefined) {
    const engines =
      scheduler.url === undefined
        ? 'engine=local, which queries the frames'
        : 'engine=local or engine=scheduler, which query the frames';
    return { status: 'ok', text: `No time-series database is set: SQL needs ${engines}.` };
  }
  const proxy = createTsdbProxy({
    url: tsdb.http_url,
    user: tsdb.user,
    password: tsdb.password,
    token: tsdb.token,
    ...(tsdb.ca_file !== undefined && { ca: readFileSync(tsdb.ca_file, 'utf8') }),
    connectTimeoutMs: Math.min(tsdb.connect_timeout_ms, TIMEOUT_MS),
    timeoutMs: Math.min(tsdb.timeout_ms, TIMEOUT_MS),
    idleTimeoutMs: Math.min(tsdb.idle_timeout_ms, TIMEOUT_MS),
  });
  try {
    const response = await proxy.forward(
      { tenant: 'default', requestId: 'svc-doctor', signal },
      {
        path: '/exec',
        params: [
          ['query', 'select 1'],
          ['fmt', 'json'],
        ],
      },
    );
    if (response.status >= 400) {
      await response.body?.cancel();
      return {
        status: 'warning',
        text: `${NAME} ${tsdb.http_url} answers select 1 with status ${response.status}.`,
        advice: 'Check that SERVICE_TSDB_HTTP_URL is its base URL, and the permissions of its user.',
      };
    }
    if (await isTable(response.body)) return { status: 'ok', text: `${NAME} ${tsdb.http_url} answers.` };
    return {
      status: 'problem',
      text: `${NAME} ${tsdb.http_url} does not answer select 1 with a table.`,
      advice: 'Check that SERVICE_TSDB_HTTP_URL is the base URL of a database.',
    };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return {
      status: 'problem',
      text: `${NAME} ${tsdb.http_url} does not answer: ${error.message}`,
      advice: 'Check that it is running, SERVICE_TSDB_HTTP_URL, and the credentials.',
    };
  } finally {
    await proxy.close();
  }
}

async function isTable(body: AsyncIterable<Uint8Array> | null): Promise<boolean> {
  if (body === null) return false;
  try {
    await readResponse({ body }, SHORT_TABLE, MAX_BYTES);
    return true;
  } catch (error) {
    if (error instanceof CliError) return false;
    throw error;
  }
}
