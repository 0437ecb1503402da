import { readdir, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { ServiceError } from '@svc/errors';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ConversionOptions } from './create-frame-files.ts';
import { createFilesFixture, type FilesFixture } from '../testing/files-fixture.ts';
import { byTier } from '../../../../test/tier.ts';

const compression = 'zstd';

async function startFiles(options: ConversionOptions): Promise<FilesFixture> {
  const fixture = await createFilesFixture(options);
  onTestFinished(() => fixture.close());
  return fixture;
}

/** A Parquet file of identical rows. */
function writeSame(path: string, rows: number): Promise<string> {
  return writeRows(path, `SELECT 0 AS a FROM range(${rows})`);
}

async function writeRows(path: string, sql: string): Promise<string> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`COPY (${sql}) TO '${path.replaceAll("'", "''")}' (FORMAT parquet)`);
  connection.disconnectSync();
  instance.closeSync();
  return path;
}

test('short files do not wait for long ones, however many', { tags: ['slow'] }, async () => {
  const fixture = await startFiles({ longValues: 1000 });
  const { files } = fixture;
  const path = await writeSame(fixture.path(), 3_000_000);
  let ended = 0;
  const long = Array.from({ length: 8 }, async () => {
    await files.convert({ kind: 'parquet', path }, fixture.path(), { compression, isUpload: true });
    ended += 1;
  });
  const csv = fixture.path();
  await writeFile(csv, 'a\n1\n');
  const parquet = await writeSame(fixture.path(), 1);
  for (const source of [{ kind: 'csv', path: csv } as const, { kind: 'parquet', path: parquet } as const]) {
    const endedBefore = ended;
    expect(await files.convert(source, fixture.path(), { compression, isUpload: true })).toMatchObject({ rows: 1 });
    expect(ended - endedBefore).toBeLessThanOrEqual(1);
  }
  await Promise.all(long);
});

test('a file with too many values is refused before they are read', async () => {
  const fixture = await startFiles({ maxValues: 1000 });
  const path = await writeSame(fixture.path(), 1001);
  await expect(
    fixture.files.convert({ kind: 'parquet', path }, fixture.path(), { compression, isUpload: true }),
  ).rejects.toMatchObject({
    code: 'payload_too_large',
    message: 'The Parquet file has 1001 values; at most 1000 are allowed.',
  });
});

test('the values of a file are counted whatever its statistics say', { tags: ['slow'] }, async () => {
  const fixture = await startFiles({ maxValues: 3 });
  const [from, path] = [fixture.path(), fixture.path()];
  // DuckDB cannot print the second value as text.
  const times = [0n, -(2n ** 63n) + 2n, 1n, 2n].map((micros) => `make_timestamp(${micros})`);
  const copy = (count: number): Promise<string> =>
    writeRows(from, `SELECT unnest([${times.slice(0, count).join()}]) AS t`);
  await copy(3);
  const source = { kind: 'parquet', path: from } as const;
  expect(await fixture.files.convert(source, path, { compression, isUpload: true })).toMatchObject({ rows: 3 });
  await copy(4);
  await expect(fixture.files.convert(source, path, { compression, isUpload: true })).rejects.toMatchObject({
    message: 'The Parquet file has 4 values; at most 3 are allowed.',
  });
});

test('a conversion that takes too long is aborted, and the next one runs', { tags: ['slow'] }, async () => {
  const fixture = await startFiles({ conversionTimeoutMs: 100 });
  const path = await writeSame(fixture.path(), 20_000_000);
  await expect(
    fixture.files.convert({ kind: 'parquet', path }, fixture.path(), { compression, isUpload: true }),
  ).rejects.toMatchObject({
    code: 'deadline_exceeded',
    message: 'Converting the file took longer than 100 ms.',
  });
  const short = await writeSame(fixture.path(), 1);
  await expect
    .poll(() =>
      fixture.files.convert({ kind: 'parquet', path: short }, fixture.path(), { compression, isUpload: true }),
    )
    .toMatchObject({ rows: 1 });
});

test('the timeout includes the time to describe the file', async () => {
  const fixture = await startFiles({ conversionTimeoutMs: 1 });
  const path = fixture.path();
  // Only describing the file finds the duplicate name.
  await writeFile(path, 'a,b,a\n1,2,3\n');
  await expect(
    fixture.files.convert({ kind: 'csv', path }, fixture.path(), { compression, isUpload: true }),
  ).rejects.toMatchObject({ code: 'deadline_exceeded', message: 'Converting the file took longer than 1 ms.' });
});

test('files with many columns also run one at a time, and the queue is bounded', { tags: ['slow'] }, async () => {
  const fixture = await startFiles({ longColumns: 2 });
  const [two, three, parquet] = [fixture.path(), fixture.path(), fixture.path()];
  await writeFile(two, 'a,b\n1,2\n');
  await writeFile(three, 'a,b,c\n1,2,3\n');
  await writeRows(parquet, 'SELECT 1 AS a, {b: 2, c: 3} AS s');
  const outcomes = async (kind: 'csv' | 'parquet', path: string): Promise<Set<string>> => {
    const conversions = Array.from({ length: 70 }, () =>
      fixture.files.convert({ kind, path }, fixture.path(), { compression, isUpload: true }).then(
        () => 'done',
        (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
      ),
    );
    return new Set(await Promise.all(conversions));
  };
  expect(await outcomes('csv', two)).toEqual(new Set(['done']));
  expect(await outcomes('csv', three)).toEqual(new Set(['done', 'too_many_requests']));
  expect(await outcomes('parquet', parquet)).toEqual(new Set(['done', 'too_many_requests']));
});

describe('a conversion that writes too much is aborted, and its file is removed', () => {
  const cases = [
    ['Parquet, at its end', 'SELECT 1 AS a', 100],
    ['Parquet', 'SELECT i AS a FROM range(2_000_000) t(i)', 10_000],
    ['Parquet whose rows pass through this process', 'SELECT {t: to_seconds(i)} AS a FROM range(200_000) t(i)', 10_000],
  ] as const;
  for (const [options, rows] of byTier(cases)) {
    test.each(rows)('%s', options, async (_, sql, maxConversionBytes) => {
      const fixture = await startFiles({ maxConversionBytes });
      const [from, path] = [await writeRows(fixture.path(), sql), fixture.path()];
      await expect(
        fixture.files.convert({ kind: 'parquet', path: from }, path, { compression, isUpload: true }),
      ).rejects.toMatchObject({
        code: 'payload_too_large',
        message: `The frame takes more than ${maxConversionBytes} bytes on disk.`,
        hint: expect.stringContaining('storage.max_conversion_bytes'),
      });
      expect((await readdir(fixture.folder)).filter((name) => name.startsWith(basename(path)))).toEqual([]);
    });
  }
});
