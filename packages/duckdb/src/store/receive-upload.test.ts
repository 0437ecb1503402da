import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceError } from '@svc/errors';
import { createDecoders } from '@svc/frames';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fromChild } from '../files/file-errors.ts';
import { ChildError } from '../engine/child-errors.ts';
import { type ReceivedRows, withReceived } from './receive-upload.ts';
import { createTenantFolder } from './catalogue/tenant-folder.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'receive-upload-'));
});

afterEach(() => rm(directory, { recursive: true }));

/** Receives a CSV file whose first attempts fail with these DuckDB errors. */
async function receive(...messages: string[]): Promise<{ readonly attempts: string[]; readonly outcome: unknown }> {
  const attempts: string[] = [];
  const receiving = { decoders: undefined, folder: createTenantFolder(directory), signal: undefined };
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a\n1\n');
  }
  async function work(rows: ReceivedRows): Promise<string> {
    attempts.push('path' in rows ? await readFile(rows.path, 'utf8') : '');
    const message = messages[attempts.length - 1];
    if (message === undefined) return 'done';
    throw fromChild(new ChildError({ code: 'duckdb', message }), 'new file');
  }
  const outcome = await withReceived({ format: 'csv', body: body() }, receiving, work).catch((error: unknown) => error);
  return { attempts, outcome };
}

const REFUSED = 'FATAL Error: Failed: database has been invalidated because of a previous fatal error.';

test('an upload that the engine refuses because of another request is written by a new engine', async () => {
  expect(await receive(REFUSED)).toEqual({ attempts: ['a\n1\n', 'a\n1\n'], outcome: 'done' });
});

test.each([
  ['is refused again', [REFUSED, REFUSED], 2, 'unavailable', 'Send the request again.'],
  ['breaks the engine itself', ['INTERNAL Error: a', 'INTERNAL Error: b'], 1, 'internal', /^Other requests/],
  [
    'quotes such words',
    ['Conversion Error: "INTERNAL Error" is no number'],
    1,
    'internal',
    'Report it with the request id.',
  ],
])('one that %s fails, and leaves no file', async (_, messages, count, code, hint) => {
  const { attempts, outcome } = await receive(...messages);
  expect(attempts).toHaveLength(count);
  expect(outcome).toMatchObject({ code, hint: expect.stringMatching(hint) });
  expect(await readdir(directory)).toEqual([]);
});

describe('an NDJSON upload', () => {
  const decoders = createDecoders();
  afterAll(() => decoders.close());

  async function filesWhileDecoding(line: string, lines: number): Promise<{ rows: number; files: number }> {
    async function* body(): AsyncGenerator<Uint8Array> {
      for (let i = 0; i < lines; i++) yield Buffer.from(line);
    }
    const receiving = { decoders, folder: createTenantFolder(directory), signal: undefined };
    return withReceived({ format: 'ndjson', body: body() }, receiving, async (rows) => {
      let count = 0;
      if ('batches' in rows) for await (const batch of rows.batches) count += batch.numRows;
      return { rows: count, files: (await readdir(directory)).length };
    });
  }

  test.each<[string, number, number]>([
    ['short', 100, 0],
    ['long', 10_000, 1],
  ])('that is %s has all its rows, from %i lines in %i files', async (_name, lines, files) => {
    expect(await filesWhileDecoding('{"a":1,"b":"x"}\n', lines)).toEqual({ rows: lines, files });
    expect(await readdir(directory)).toEqual([]);
  });

  test('that stops arriving can be cancelled', async () => {
    const controller = new AbortController();
    async function* body(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{"a":1}\n');
      controller.abort(new ServiceError('cancelled', 'gone'));
      await new Promise(() => {});
    }
    const receiving = { decoders, folder: createTenantFolder(directory), signal: controller.signal };
    await expect(withReceived({ format: 'ndjson', body: body() }, receiving, async () => 1)).rejects.toThrow('gone');
  });
});
