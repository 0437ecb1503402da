import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { signal } from '@preact/signals';
import { Field, Int32, Schema, SparseUnion, Table, tableToIPC } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { encodeArrowStream } from '@svc/frames';
import { bytesOf, longFrame, SAMPLE_FRAMES, streamOfSample } from '@svc/frames/testing';
import { SLOW } from '../../../../test/tier.ts';
import { type ColumnInfo, createApi } from '../api/api.ts';
import { type AnswerBatch, type AnswerEnd, MAX_ROWS } from '../api/sql-stream.ts';
import {
  answerText,
  createRunner,
  incompleteText,
  ordinal,
  outcomeText,
  progressText,
  type RowSink,
  type Runner,
  type RunState,
} from './run.ts';

type Handle = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** Rows that only remember what they were given. */
interface Kept extends RowSink {
  readonly batches: AnswerBatch[];
  readonly ends: AnswerEnd[];
  isClosed: boolean;
}

function keptRows(columns: readonly ColumnInfo[]): Kept {
  const rowCount = signal(0);
  const kept: Kept = {
    columns,
    rowCount,
    revision: signal(0),
    failure: signal(undefined),
    isOutdated: signal(false),
    batches: [],
    ends: [],
    isClosed: false,
    cell: () => undefined,
    want: () => undefined,
    wholeText: async () => '',
    retry: () => undefined,
    close: () => (kept.isClosed = true),
    append(batch) {
      kept.batches.push(batch);
      rowCount.value += batch.rowCount;
    },
    end: (end) => void kept.ends.push(end),
  };
  return kept;
}

/** The requests that run SQL; on a busy machine there are some for progress, too. */
const statements = (): typeof seen => seen.filter(({ url }) => !url.startsWith('/queries'));

const REQUEST = { sql: 'select 1', engine: 'local', from: 0 } as const;

let server: Server;
let handle: Handle;
let seen: { readonly method: string; readonly url: string; readonly id: string; readonly body: string }[];
let outcomes: [string, number | undefined][];
let runner: Runner<Kept>;
let maxRows: number | null;

beforeEach(async () => {
  seen = [];
  outcomes = [];
  maxRows = null;
  listed = (id) => [{ id, engine: 'local', state: 'running', elapsedMs: 1, progress: 0.5 }];
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = (await bytesOf(request)).toString();
    seen.push({
      method: request.method ?? '',
      url: request.url ?? '',
      id: String(request.headers['x-request-id']),
      body,
    });
    if (request.method === 'DELETE') response.writeHead(204).end();
    else if (request.url === '/queries') response.end(JSON.stringify({ queries: listed(statements()[0]?.id) }));
    else handle(request, response, body);
  };
  server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const quiet = { answered: () => undefined, gone: () => undefined, unauthenticated: () => undefined };
  runner = createRunner({
    api: createApi(new URL(`http://127.0.0.1:${port}/`), quiet, fetch),
    createRows: keptRows,
    maxRows: () => maxRows,
    ended: (state, rows) => void outcomes.push([state.kind, rows]),
  });
});

afterEach(async () => {
  runner.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** What `/queries` lists: the statement that runs, and another that waits. */
let listed: (id: string | undefined) => readonly object[];

/** Resolves when the state is of a kind. */
function until(isReached: (state: RunState) => boolean): Promise<RunState> {
  return new Promise((resolve) => {
    const stop = runner.state.subscribe((state) => {
      if (isReached(state)) queueMicrotask(() => (stop(), resolve(state)));
    });
  });
}

const sample = SAMPLE_FRAMES[0];
const arrow = await bytesOf(encodeArrowStream(streamOfSample(sample)));

describe('a run', () => {
  test('sends the statement with a limit and ends with its rows and times', async () => {
    handle = (_request, response) => {
      response.setHeader('server-timing', 'queue;dur=1, execute;dur=2');
      response.end(arrow);
    };
    await runner.run(REQUEST);
    expect(statements()[0]).toMatchObject({
      method: 'POST',
      url: `/exp?fmt=arrow&engine=local&limit=${MAX_ROWS + 1}`,
      body: 'select 1',
    });
    expect(runner.state.value).toMatchObject({ kind: 'done', end: 'complete', timing: { queueMs: 1, executeMs: 2 } });
    const answer = runner.answer.value;
    expect([answer?.rows.rowCount.value, answer?.rows.ends, answer?.end]).toEqual([
      sample.rows.length,
      ['complete'],
      'complete',
    ]);
    expect(outcomes).toEqual([['done', sample.rows.length]]);
  });

  test('that fails keeps the answer before it', async () => {
    handle = (_request, response) => response.end(arrow);
    await runner.run(REQUEST);
    const before = runner.answer.value;
    handle = (_request, response) => {
      response.statusCode = 400;
      response.end('{"error":"Syntax error.","code":"invalid_sql","hint":"Correct it.","position":7,"requestId":"r1"}');
    };
    await runner.run({ ...REQUEST, sql: 'select nope' });
    expect(runner.state.value).toMatchObject({
      kind: 'failed',
      error: { message: 'Syntax error.', code: 'invalid_sql', hint: 'Correct it.', position: 7, requestId: 'r1' },
    });
    expect(runner.answer.value).toBe(before);
    expect(before?.rows.isClosed).toBe(false);
  });

  test('releases the answer before it when its own columns come', async () => {
    handle = (_request, response) => response.end(arrow);
    await runner.run(REQUEST);
    const before = runner.answer.value?.rows;
    await runner.run(REQUEST);
    expect([before?.isClosed, runner.answer.value?.rows.isClosed]).toEqual([true, false]);
  });

  test('whose connection breaks keeps its rows, marked incomplete', async () => {
    handle = (_request, response) => {
      response.setHeader('content-length', arrow.length);
      response.write(arrow.subarray(0, arrow.length - 8), () => response.destroy());
    };
    await runner.run(REQUEST);
    expect(runner.state.value).toMatchObject({ kind: 'done', end: 'cut' });
    expect(runner.answer.value?.rows.ends).toEqual(['cut']);
  });

  test('without the mark at the end of its stream is incomplete', async () => {
    handle = (_request, response) => response.end(arrow.subarray(0, arrow.length - 8));
    await runner.run(REQUEST);
    expect(runner.state.value).toMatchObject({ kind: 'done', end: 'cut' });
  });

  test('that ends before its columns fails', async () => {
    handle = (_request, response) => response.end('<h1>');
    await runner.run(REQUEST);
    expect(runner.state.value).toMatchObject({ kind: 'failed', error: { code: 'connection_lost' } });
  });

  test('of a server that is gone fails', async () => {
    handle = (_request, response) => response.destroy();
    await runner.run(REQUEST);
    expect(runner.state.value).toMatchObject({ kind: 'failed', error: { code: 'unreachable' } });
  });

  test('with more rows than a page holds ends the stream', SLOW, async () => {
    const long = await bytesOf(encodeArrowStream(longFrame(MAX_ROWS + 1)));
    handle = (_request, response) => response.end(long);
    await runner.run(REQUEST);
    expect(runner.state.value).toMatchObject({ kind: 'done', end: 'limited' });
    expect(runner.answer.value?.rows.rowCount.value).toBe(MAX_ROWS);
  });

  test('asks for no more rows than the server allows, and says that there may be more', async () => {
    maxRows = sample.rows.length;
    handle = (_request, response) => response.end(arrow);
    await runner.run(REQUEST);
    expect(statements()[0]?.url).toContain(`limit=${maxRows}`);
    expect(runner.state.value).toMatchObject({ end: 'limited' });
  });
});

describe('progress', () => {
  test('is asked for by the id of the request', async () => {
    handle = () => undefined;
    const done = runner.run(REQUEST);
    const state = await until((now) => now.kind === 'running' && now.query !== undefined);
    expect(state).toMatchObject({ query: { state: 'running', progress: 0.5 } });
    runner.cancel();
    await done;
  });

  test('has the place in line, and the length of the line if all of it is seen', async () => {
    const queued = { engine: 'local', state: 'queued', elapsedMs: 1, progress: null };
    listed = (id) => [
      { ...queued, id: 'other', queuePosition: 1 },
      { ...queued, id, queuePosition: 2 },
    ];
    handle = () => undefined;
    const done = runner.run(REQUEST);
    const state = await until((now) => now.kind === 'running' && now.query !== undefined);
    expect(state).toMatchObject({ query: { queuePosition: 2, queueLength: 2 } });
    runner.cancel();
    await done;
  });
});

describe('cancel', () => {
  test('closes the connection, and ends the query by its id if the server still lists it', async () => {
    const closed = new Promise<void>((resolve) => {
      handle = (_request, response) => {
        response.on('close', resolve);
        response.write(arrow.subarray(0, arrow.length - 8));
      };
    });
    const done = runner.run(REQUEST);
    await new Promise<void>((resolve) => {
      const stop = runner.answer.subscribe((answer) => answer && queueMicrotask(() => (stop(), resolve())));
    });
    expect(runner.cancel()).toBe(true);
    await Promise.all([done, closed]);
    expect(runner.state.value).toMatchObject({ kind: 'cancelled' });
    expect(runner.answer.value?.rows.ends).toEqual(['cancelled']);
    await expect
      .poll(() => seen.find(({ method }) => method === 'DELETE'))
      .toMatchObject({ method: 'DELETE', url: `/queries/${statements()[0]?.id}` });
  });

  test('has nothing to do when nothing runs', () => {
    expect(runner.cancel()).toBe(false);
  });

  test('by another client is no failure', async () => {
    handle = (_request, response) => {
      response.statusCode = 499;
      response.end('{"error":"Cancelled.","code":"cancelled"}');
    };
    await runner.run(REQUEST);
    expect(runner.state.value).toMatchObject({ kind: 'cancelled' });
  });

  test('comes with the next run, whose state is shown', async () => {
    handle = () => undefined;
    const first = runner.run(REQUEST);
    await expect.poll(() => statements().length).toBe(1);
    handle = (_request, response) => response.end(arrow);
    await Promise.all([first, runner.run({ ...REQUEST, sql: 'select 2' })]);
    expect(runner.state.value).toMatchObject({ kind: 'done', request: { sql: 'select 2' } });
    expect(outcomes.map(([kind]) => kind)).toEqual(['cancelled', 'done']);
  });
});

describe('the time-series database', () => {
  const tsdb = { ...REQUEST, engine: 'tsdb' } as const;

  test('answers with a JSON table', async () => {
    handle = (_request, response) =>
      response.end('{"query":"x","columns":[{"name":"a","type":"LONG"}],"dataset":[["1"],[null]],"count":2}');
    await runner.run(tsdb);
    expect(statements()[0]?.url).toBe(`/exec?fmt=json&engine=tsdb&limit=${MAX_ROWS + 1}&quoteLargeNum=true`);
    expect(runner.answer.value?.rows.batches).toEqual([{ kind: 'json', rows: [['"1"'], ['null']], rowCount: 2 }]);
  });

  test('answers a statement without rows with the number of changed ones', async () => {
    handle = (_request, response) => response.end('{"dml":"OK","updated":3}');
    await runner.run(tsdb);
    expect(runner.state.value).toMatchObject({ kind: 'done', end: 'acted', changedRows: 3 });
    expect(runner.answer.value).toBeUndefined();
  });
});

test('an answer whose Arrow data cannot be decoded is read as a JSON table', async () => {
  const union = new SparseUnion(Int32Array.of(0), [new Field('a', new Int32())]);
  const stream = tableToIPC(new Table(new Schema([new Field('a', union)])), 'stream');
  handle = (request, response) =>
    response.end(
      request.url?.startsWith('/exp')
        ? stream
        : '{"columns":[{"name":"a","type":"INTERVAL"}],"dataset":[["P1D"]],"count":1}',
    );
  await runner.run(REQUEST);
  expect(statements().map(({ url }) => url.slice(0, 5))).toEqual(['/exp?', '/exec']);
  expect(runner.answer.value?.rows.batches).toEqual([{ kind: 'json', rows: [['"P1D"']], rowCount: 1 }]);
});

const plain = (text: string | undefined): string | undefined => text?.replaceAll('\u202f', ' ');
const running = { id: '1', engine: 'local', state: 'running', elapsedMs: 0, rows: 0, bytes: 0 } as const;

describe('while a statement runs', () => {
  test.each([
    [
      'a place in line',
      { ...running, state: 'queued', queuePosition: 3, queueLength: 5, progress: null },
      '3rd of 5 in line · 2.1 s',
    ],
    [
      'a place without a length',
      { ...running, state: 'queued', queuePosition: 1, progress: null },
      '1st in line · 2.1 s',
    ],
    ['unknown progress has no percent', { ...running, progress: null }, '2.1 s'],
    [
      'progress with rows',
      { ...running, progress: 0.639, rowsProcessed: 62_971_904, rowsTotal: 100_000_002 },
      '63 % · 62 971 904 of 100 000 002 rows · 2.1 s',
    ],
    ['progress without rows', { ...running, progress: 0.5 }, '50 % · 2.1 s'],
    ['nothing is known', undefined, '2.1 s'],
  ] as const)('%s', (_name, query, expected) => {
    expect(plain(progressText(query, 2100))).toBe(expected);
  });

  test.each([
    [1, '1st'],
    [2, '2nd'],
    [3, '3rd'],
    [4, '4th'],
    [11, '11th'],
    [12, '12th'],
    [13, '13th'],
    [21, '21st'],
    [112, '112th'],
  ])('%d in line is the %s', (value, expected) => {
    expect(ordinal(value)).toBe(expected);
  });
});

describe('an answer says', () => {
  test('its rows, its time and its wait', () => {
    const timing = { queueMs: 250, executeMs: 120 };
    expect(plain(answerText({ rows: 1, end: 'complete', timing }))).toBe('1 row · 0.12 s after 0.25 s in line');
    expect(plain(answerText({ rows: 200_000, end: 'limited', timing: { queueMs: 0, executeMs: 120 } }))).toBe(
      '200 000+ rows · 0.12 s',
    );
    expect(plain(answerText({ rows: 7, end: undefined, timing: undefined }))).toBe('7 rows');
  });

  test.each([
    ['cut', 12_345, 'The server ended the answer after 12 345 rows. Run the statement again to see all.'],
    ['cancelled', 2, 'Cancelled after 2 rows.'],
    ['limited', 200_000, '200 000+ rows. Keep as frame to see all.'],
    ['limited', 10, '10+ rows. Only the first rows are shown. Keep as frame to see all.'],
    ['limited', 0, 'The first rows are larger than 67 MB. Keep as frame to see them.'],
    ['complete', 5, undefined],
    [undefined, 5, undefined],
  ] as const)('why it is incomplete if it is %s with %d rows', (end, rows, expected) => {
    expect(plain(incompleteText(end, rows))).toBe(expected);
  });

  test('how it ended', () => {
    const request = { sql: 'x', engine: 'tsdb', from: 0 } as const;
    const base = { request, elapsedMs: 500 };
    expect(outcomeText({ kind: 'failed', ...base, error: new Error('No.') }, undefined)).toBe('Failed: No.');
    expect(outcomeText({ kind: 'cancelled', ...base }, undefined)).toBe('Cancelled.');
    const acted = { kind: 'done', ...base, end: 'acted', timing: undefined } as const;
    expect(outcomeText(acted, undefined)).toBe('Done.');
    expect(outcomeText({ ...acted, changedRows: 3 }, undefined)).toBe('Done. 3 rows changed.');
    expect(plain(outcomeText({ ...acted, end: 'complete' }, 4))).toBe('4 rows in 0.50 s.');
  });
});
