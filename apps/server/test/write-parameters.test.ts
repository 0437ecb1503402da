import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ServerProcess, startProcess } from './server-process.ts';

let server: ServerProcess;
const ends: (() => Promise<void>)[] = [];
beforeAll(async () => {
  server = await startProcess({ onEnd: (end) => void ends.push(end) });
  await server.put('t', [{ id: 1 }]);
});
afterAll(async () => {
  await Promise.all(ends.map((end) => end()));
});

const ROWS = { 'content-type': 'application/json' };
const CSV = { 'content-type': 'text/csv' };

/** A response: its status, and the body of an error. */
async function send(line: string, body?: string, headers: Readonly<Record<string, string>> = ROWS) {
  const [method = '', path = ''] = line.split(' ');
  const response = await server.fetch(path, { method, ...(body !== undefined && { body, headers }) });
  const text = await response.text();
  const { code, error, hint }: { code?: string; error?: string; hint?: string } = text === '' ? {} : JSON.parse(text);
  return { status: response.status, code, error, hint };
}

describe('an unknown parameter of a request that writes', () => {
  test.each<[line: string, body: string | undefined, unknown: string, nearest: string]>([
    ['PUT /frames/t?tll=60', '[{"id":2}]', 'tll', 'ttl'],
    ['PUT /frames/t?TTL=60', '[{"id":2}]', 'TTL', 'ttl'],
    ['PUT /frames/t?fmt=json&fmr=json', '[{"id":2}]', 'fmr', 'fmt'],
    ['PUT /frames/t?fmt=csv&heder=true', 'id\n2\n', 'heder', 'header'],
    ['PUT /frames/new?columms=id:LONG', '[{"id":2}]', 'columms', 'columns'],
    ['POST /frames/t?delimeter=;', '[{"id":2}]', 'delimeter', 'delimiter'],
    ['PUT /frames/t?fmt=csv&nul=NA', 'id\n2\n', 'nul', 'null'],
    ['POST /frames?t%74ll=60', '[{"id":2}]', 'ttll', 'ttl'],
    ['POST /frames?tll=60', '{"sql":"select 1","engine":"local"}', 'tll', 'ttl'],
  ])('%s is 400 and names the nearest one', async (line, body, unknown, nearest) => {
    const { status, code, error, hint } = await send(line, body);
    expect({ status, code }).toEqual({ status: 400, code: 'invalid_argument' });
    expect(error).toContain(`parameter "${unknown}"`);
    expect(hint).toContain(`Did you mean ${nearest}?`);
  });

  test.each<[line: string, body: string | undefined, hint: string]>([
    [
      'PUT /frames/t?x=1',
      '[{"id":2}]',
      'PUT takes fmt, ttl, header, delimiter, columns, null, encoding, skip, dateformat and timestampformat here.',
    ],
    [
      'POST /frames/t?=1',
      '[{"id":2}]',
      'POST takes fmt, ttl, header, delimiter, columns, null, encoding, skip, dateformat and timestampformat here.',
    ],
    ['PATCH /frames/t?ttl=60', '{"ttl":60}', 'PATCH takes no parameters here.'],
    ['DELETE /frames/t?if-match=1', undefined, 'DELETE takes no parameters here.'],
  ])('%s is 400 and lists the known ones', async (line, body, hint) => {
    expect(await send(line, body)).toMatchObject({ status: 400, code: 'invalid_argument', hint });
  });

  test('leaves everything as it was', async () => {
    const { frames } = (await (await server.fetch('/frames')).json()) as { frames: { handle: string }[] };
    expect(frames).toMatchObject([{ handle: 't', rows: 1, expires: null }]);
    expect(await (await server.fetch('/exec?handle=t&fmt=json')).json()).toMatchObject({ dataset: [[1]] });
  });
});

test.each<[line: string, body?: string, headers?: Readonly<Record<string, string>>]>([
  ['PUT /frames/all?fmt=csv&ttl=60&header=true&delimiter=;&columns=a,b', 'a;b\n1;2\n', CSV],
  ['POST /frames/all?fmt=csv&ttl=60&header=true&delimiter=;&columns=a,b', 'a;b\n1;2\n', CSV],
  ['POST /frames?fmt=csv&ttl=60&header=true&delimiter=;&columns=a,b', 'a;b\n1;2\n', CSV],
  ['POST /frames?fmt=json&ttl=60', '{"sql":"select 1","engine":"local"}'],
])('%s has only known parameters', async (line, body, headers) => {
  expect([200, 201]).toContain((await send(line, body, headers)).status);
});

test.each([
  '/exec?handle=t&fmt=json&tll=1',
  '/exp?handle=t&tll=1',
  '/frames?tll=1',
  '/frames/t?tll=1',
  '/health?tll=1',
])('GET %s only reads, and unknown parameters are ignored', async (path) => {
  expect((await server.fetch(path)).status).toBe(200);
});

test('POST /exec runs SQL and writes nothing: its unknown parameters are ignored', async () => {
  const { status } = await send('POST /exec?fmt=json&engine=local&tll=1', 'select 1', { 'content-type': 'text/plain' });
  expect(status).toBe(200);
});
