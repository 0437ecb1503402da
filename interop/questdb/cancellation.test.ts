import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { startProcess } from '../../apps/server/test/server-process.ts';
import { exec, execUrl } from './exec.ts';

/** Takes hours, and returns its first row only at the end. */
const ENDLESS_SQL = 'select sum(sqrt(x) * sin(x)) from long_sequence(1000000000000)';
/** Returns its first row at once, and runs for hours. */
const ENDLESS_ROWS_SQL = 'select x, sin(x) from long_sequence(1000000000000)';

/** Long enough for the query to be seen running on a busy machine. */
const DEADLINE_MS = 5_000;

/** Counts the running queries with this mark in their text. */
async function running(mark: string): Promise<number> {
  const { dataset } = await exec(inject('questdbUrl'), 'select query from query_activity()');
  return dataset.filter((row) => String(row).includes(mark)).length;
}

/** A client that reads only on demand. */
async function send(serverUrl: string, sql: string): Promise<Socket> {
  const { hostname, port } = new URL(serverUrl);
  const socket = connect(Number(port), hostname).on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  const target = execUrl(serverUrl, sql).slice(serverUrl.length);
  socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  return socket;
}

/** Measures how long a query with this mark keeps running in the database. */
async function msUntilGone(mark: string): Promise<number> {
  const started = performance.now();
  await expect.poll(() => running(mark), { interval: 20, timeout: 10_000 }).toBe(0);
  return performance.now() - started;
}

/** Measures up to three times: a busy machine distorts one measurement, a real delay shows in all. */
async function shortest(measure: (attempt: number) => Promise<number>): Promise<number> {
  let least = Infinity;
  for (let attempt = 1; attempt <= 3 && least >= 1_000; attempt += 1) least = Math.min(least, await measure(attempt));
  return least;
}

describe('a client that disconnects cancels its query in the database within 1 s', () => {
  test.each([
    ['before the answer begins', ENDLESS_SQL, async () => undefined],
    ['in the midst of the answer', ENDLESS_ROWS_SQL, async (socket: Socket) => once(socket, 'data')],
    ['when it has read nothing at all', ENDLESS_ROWS_SQL, async () => undefined],
  ])('%s', async (name, sql, read) => {
    const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: inject('questdbUrl') } });
    const ms = await shortest(async (attempt) => {
      const mark = `cancel ${name} ${attempt}`;
      const socket = await send(server.url, `${sql} -- ${mark}`);
      await read(socket);
      await expect.poll(() => running(mark), { timeout: 10_000 }).toBe(1);
      socket.destroy();
      return msUntilGone(mark);
    });
    expect(ms).toBeLessThan(1_000);
  });

  test('and so does a deadline of the server', async () => {
    const server = await startProcess({
      env: { SERVICE_TSDB_HTTP_URL: inject('questdbUrl') },
      toml: `[tsdb]\ntimeout_ms = ${DEADLINE_MS}\n`,
    });
    const ms = await shortest(async (attempt) => {
      const mark = `cancel by deadline ${attempt}`;
      const answer = fetch(execUrl(server.url, `${ENDLESS_SQL} -- ${mark}`));
      await expect.poll(() => running(mark), { interval: 20, timeout: DEADLINE_MS }).toBe(1);
      expect((await answer).status).toBe(504);
      return msUntilGone(mark);
    });
    expect(ms).toBeLessThan(1_000);
  });
});
