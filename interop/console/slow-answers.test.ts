import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { type ServerProcess, sharedProcess, startProcess } from '../../apps/server/test/server-process.ts';
import { cellsOf, expectAccessible, openFrame, runByKeyboard, useBrowser } from './open-console.ts';
import { startProxy } from './proxy.ts';
import { LONG_SQL } from './steps.ts';

const open = useBrowser();

/** A request that is refused because the server is busy. */
const BUSY = /: Failed to load resource: .* (429 \(Too Many Requests\)|503 \(Service Unavailable\))$/;

async function runningQueries(server: ServerProcess): Promise<number> {
  const { queries } = (await (await server.fetch('/queries')).json()) as { queries: unknown[] };
  return queries.length;
}

/** Writes bytes one after the other, each by itself. */
async function drip(bytes: Buffer, outgoing: ServerResponse): Promise<void> {
  for (const byte of bytes) {
    outgoing.write(Buffer.of(byte));
    await setImmediate();
  }
}

test('rows and answers that come byte by byte are shown whole', async () => {
  const server = await sharedProcess();
  await server.put('trades', [{ symbol: 'BTC', price: 2.5 }, { symbol: 'ETH' }]);
  const url = await startProxy(server.url, {
    send(answer, outgoing, path) {
      if (!/^\/(exp|exec|frames|info)\b/.test(path)) {
        answer.pipe(outgoing);
        return;
      }
      void (async () => {
        for await (const chunk of answer) await drip(chunk as Buffer, outgoing);
        outgoing.end();
      })();
    },
  });
  const { page } = await open(url);
  await openFrame(page, 'trades');
  expect(await cellsOf(page)).toEqual(['BTC', '2.5', 'ETH', 'null']);
  await runByKeyboard(page, 'select symbol, price * 2 as twice from trades');
  await expect.poll(() => cellsOf(page)).toEqual(['BTC', '5', 'ETH', 'null']);
});

test('an answer that stops coming shows the rows that came, and Escape ends it', async () => {
  const server = await sharedProcess();
  const url = await startProxy(server.url, {
    send(answer, outgoing, path) {
      if (!path.startsWith('/exp')) {
        answer.pipe(outgoing);
        return;
      }
      let left = 400_000;
      answer.on('data', (chunk: Buffer) => {
        if (left > 0) outgoing.write(chunk.subarray(0, left));
        left -= chunk.length;
        if (left <= 0) answer.pause();
      });
      outgoing.on('close', () => answer.destroy());
    },
  });
  const { page } = await open(url);
  await page.getByRole('main').waitFor();
  await runByKeyboard(page, "select range as id, 'row ' || range as name from range(190000)");
  await expect.poll(async () => (await cellsOf(page)).slice(0, 2)).toEqual(['0', 'row 0']);
  await page.getByRole('progressbar', { name: 'Progress of the statement' }).waitFor();
  await page.keyboard.press('Escape');
  await page
    .getByText(/^Cancelled/)
    .first()
    .waitFor();
  await expect.poll(() => runningQueries(server)).toBe(0);
  expect((await cellsOf(page)).slice(0, 2)).toEqual(['0', 'row 0']);
});

/** The requests of a page that run a statement. */
function watchStatements(page: Page, sql: string): string[] {
  const seen: string[] = [];
  page.on('request', (request) => {
    const text = request.postData() ?? new URL(request.url()).searchParams.get('query') ?? '';
    if (text.includes(sql)) seen.push(text);
  });
  return seen;
}

test('a statement that finds the queue full is refused with the hint and the wait, and runs only if it is run again', async () => {
  const env = { SERVICE_SQL_MAX_CONCURRENT: '1', SERVICE_SQL_MAX_QUEUED: '0' };
  const server = await startProcess({ env });
  const other = server
    .fetch(`/exec?engine=local&fmt=json&query=${encodeURIComponent(LONG_SQL)}`)
    .catch(() => undefined);
  await expect.poll(() => runningQueries(server)).toBe(1);
  const { page } = await open(server.url, { expected: [BUSY], bypassCSP: true });
  await page.getByRole('main').waitFor();
  const statements = watchStatements(page, 'as answer');
  await runByKeyboard(page, 'select 6 * 7 as answer');
  const alert = page.getByRole('alert').filter({ hasText: 'too_many_requests' });
  await alert.waitFor();
  expect(await alert.innerText()).toMatch(/Retry in \d+ s\b/);
  await expectAccessible(page, 'queue-full');
  const { queries } = (await (await server.fetch('/queries')).json()) as { queries: { id: string }[] };
  expect((await server.fetch(`/queries/${queries[0]?.id}`, { method: 'DELETE' })).ok).toBe(true);
  await other;
  expect(statements).toHaveLength(1);
  await page.keyboard.press('Control+Enter');
  await expect.poll(() => cellsOf(page)).toEqual(['42']);
  expect(statements).toHaveLength(2);
});

test.each([429, 503])('a query goes on while the server answers %i to questions about it', async (status) => {
  const server = await sharedProcess();
  const { page } = await open(server.url, { expected: [BUSY] });
  await page.getByRole('main').waitFor();
  let refused = 0;
  await page.route(
    ({ pathname }) => pathname === '/queries' || pathname === '/frames',
    (route) => {
      refused += 1;
      const headers = { 'retry-after': '1', 'content-type': 'application/json' };
      return route.fulfill({ status, headers, body: '{"error":"Busy.","code":"unavailable"}' });
    },
  );
  await runByKeyboard(page, LONG_SQL);
  await page.getByRole('progressbar', { name: 'Progress of the statement' }).waitFor();
  await expect.poll(() => refused).toBeGreaterThan(2);
  expect(await runningQueries(server)).toBe(1);
  expect(await page.locator('.run-status progress').getAttribute('value')).toBeNull();
  await page.keyboard.press('Escape');
  await expect.poll(() => runningQueries(server)).toBe(0);
});
