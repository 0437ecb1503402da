import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { createDecoders, encodeNdjson } from '@svc/frames';
import { bodyOf, bytesOf } from '@svc/frames/testing';
import { FrameServiceDefinition } from '@svc/proto';
import { createChannel, createClient } from 'nice-grpc';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ServerProcess, startProcess } from './server-process.ts';

// Written by pyarrow: see arrow-tables/make_tables.py.
const FOLDER = fileURLToPath(new URL('arrow-tables/', import.meta.url));
const STREAM = 'application/vnd.apache.arrow.stream';
const FILE = 'application/vnd.apache.arrow.file';

function namesIn(folder: string): readonly string[] {
  return readdirSync(join(FOLDER, folder)).filter((name) => /\.arrows?\.gz$/.test(name));
}

function read(name: string): Buffer {
  return gunzipSync(readFileSync(join(FOLDER, name)));
}

/** The stream inside an Arrow file: between the magic bytes and the footer. */
function streamIn(file: Buffer): Buffer {
  const footerEnd = file.length - 10;
  return file.subarray(8, footerEnd - file.readInt32LE(footerEnd));
}

interface ArrowTable {
  readonly handle: string;
  readonly stream: Buffer;
  readonly file: Buffer | undefined;
  readonly rows: string;
}

const TABLES: readonly ArrowTable[] = namesIn('').map((name) => {
  const [handle = ''] = name.split('.');
  const content = read(name);
  const file = name.includes('.arrows') ? undefined : content;
  return { handle, file, stream: file ? streamIn(file) : content, rows: read(`${handle}.ndjson.gz`).toString() };
});

/** DuckDB has no empty structs and no nanosecond durations, and has nested durations and intervals only as text. */
const IN_SQL = TABLES.filter(({ handle }) => handle !== 'not-in-sql');

const REASONS: Readonly<Record<string, RegExp>> = {
  'dense-union.arrows.gz': /Column "c" has the Arrow type union/,
  'sparse-union.arrows.gz': /Column "c" has the Arrow type union/,
  'run-end-encoded.arrows.gz': /Column "c" has the Arrow type run-end encoded/,
  'list-view.arrows.gz': /Column "c" has the Arrow type list view/,
  'dictionary-of-structs.arrows.gz': /Column "c" has the Arrow type Dictionary/,
  'two-columns-of-one-name.arrows.gz': /Two columns have the name "c"/,
  'two-fields-of-one-name.arrows.gz': /Two fields of "c" have the name "a"/,
};

const directory = mkdtempSync(join(tmpdir(), 'svc-data-'));
const decoders = createDecoders();
const ends: (() => Promise<void>)[] = [];
const start = (): Promise<ServerProcess> =>
  startProcess({ args: ['--data-dir', directory], onEnd: (end) => ends.push(end) });
let server: ServerProcess;

async function put(handle: string, body: Buffer, type: string): Promise<[number, unknown]> {
  const init = { method: 'PUT', body: new Uint8Array(body), headers: { 'content-type': type } };
  const response = await server.fetch(`/frames/${handle}`, init);
  return [response.status, await response.json()];
}

async function bytesFrom(path: string): Promise<Buffer> {
  const response = await server.fetch(path);
  const bytes = Buffer.from(await response.arrayBuffer());
  if (!response.ok) throw new Error(`${path}: ${bytes.toString()}`);
  return bytes;
}

async function rowsFrom(path: string): Promise<string> {
  return (await bytesFrom(`${path}&fmt=ndjson`)).toString();
}

async function rowsOfArrow(bytes: Buffer): Promise<string> {
  return (await bytesOf(encodeNdjson(await decoders.decode('arrow', bodyOf(bytes))))).toString();
}

async function overGrpc(handle: string): Promise<Buffer> {
  const channel = createChannel(server.grpcAddress);
  const chunks: Uint8Array[] = [];
  for await (const { chunk } of createClient(FrameServiceDefinition, channel).getFrame({ handle })) {
    if (chunk) chunks.push(chunk);
  }
  channel.close();
  return Buffer.concat(chunks);
}

beforeAll(async () => {
  server = await start();
});
afterAll(async () => {
  await Promise.all(ends.map((end) => end()));
  await decoders.close();
  rmSync(directory, { recursive: true, force: true });
});

describe('an Arrow table of pyarrow, with values below its nulls, is read as pyarrow reads it', () => {
  test.each(TABLES)('by the decoder: $handle', { tags: ['slow'] }, async ({ file, stream, rows }) => {
    for (const bytes of file ? [file, stream] : [stream]) expect(await rowsOfArrow(bytes)).toBe(rows);
  });

  test.each(TABLES)('after it was put: $handle', async ({ handle, file, stream, rows }) => {
    if (file) {
      expect(await put(`${handle}-file`, file, FILE)).toMatchObject([201, {}]);
      expect(await rowsFrom(`/exp?handle=${handle}-file`)).toBe(rows);
    }
    expect(await put(handle, stream, STREAM)).toMatchObject([201, {}]);
    expect(await rowsFrom(`/exp?handle=${handle}`)).toBe(rows);
    expect(await rowsOfArrow(await bytesFrom(`/exp?handle=${handle}&fmt=arrow`))).toBe(rows);
  });

  test('after a restart', async () => {
    await ends.pop()?.();
    server = await start();
    for (const { handle, rows } of TABLES) {
      expect.soft(await rowsFrom(`/exp?handle=${handle}`), handle).toBe(rows);
    }
  });

  test.each(TABLES)('over gRPC, and as Parquet that is put again: $handle', async ({ handle, rows }) => {
    expect(await rowsOfArrow(await overGrpc(handle))).toBe(rows);
    const file = await bytesFrom(`/exp?handle=${handle}&fmt=parquet`);
    expect(await put(`${handle}-parquet`, file, 'application/vnd.apache.parquet')).toMatchObject([201, {}]);
    expect(await rowsFrom(`/exp?handle=${handle}-parquet`)).toBe(rows);
  });

  test.each(IN_SQL)('by SQL: $handle', async ({ handle, rows }) => {
    const sql = encodeURIComponent(`SELECT * FROM "${handle}"`);
    expect(await rowsFrom(`/exp?engine=local&query=${sql}`)).toBe(rows);
  });
});

test.each(namesIn('refused'))(
  'an Arrow table that cannot be held is refused with a reason and a hint: %s',
  async (name) => {
    const [status, answer] = await put('refused', read(`refused/${name}`), STREAM);
    expect([status, answer]).toMatchObject([
      400,
      { code: 'invalid_data', error: expect.stringMatching(REASONS[name] ?? /^$/), hint: expect.any(String) },
    ]);
  },
);
