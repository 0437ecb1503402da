import { writeFile } from 'node:fs/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, onTestFinished, test } from 'vitest';
import type { ConversionOptions } from './conversion-lanes.ts';
import { createFilesFixture, type FilesFixture } from './testing/files-fixture.ts';

const compression = 'zstd';

async function startFiles(options: ConversionOptions): Promise<FilesFixture> {
  const fixture = await createFilesFixture(options);
  onTestFinished(() => fixture.close());
  return fixture;
}

/** A Parquet file of so many rows, all the same. */
async function writeSame(path: string, rows: number): Promise<string> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`COPY (SELECT 0 AS a FROM range(${rows})) TO '${path.replaceAll("'", "''")}' (FORMAT parquet)`);
  connection.disconnectSync();
  instance.closeSync();
  return path;
}

test('short files do not wait for long ones, however many', async () => {
  const fixture = await startFiles({ longValues: 1000 });
  const { files } = fixture;
  const path = await writeSame(fixture.path(), 1_000_000);
  let ended = 0;
  const long = Array.from({ length: 20 }, async () => {
    await files.convert({ kind: 'parquet', path }, fixture.path(), { compression });
    ended += 1;
  });
  const csv = fixture.path();
  await writeFile(csv, 'a\n1\n');
  const parquet = await writeSame(fixture.path(), 1);
  for (const source of [{ kind: 'csv', path: csv } as const, { kind: 'parquet', path: parquet } as const]) {
    const endedBefore = ended;
    expect(await files.convert(source, fixture.path(), { compression })).toMatchObject({ rows: 1 });
    expect(ended - endedBefore).toBeLessThanOrEqual(1);
  }
  await Promise.all(long);
});

test('a file of more values than may be is refused before they are read', async () => {
  const fixture = await startFiles({ maxValues: 1000 });
  const path = await writeSame(fixture.path(), 1001);
  await expect(fixture.files.convert({ kind: 'parquet', path }, fixture.path(), { compression })).rejects.toMatchObject(
    {
      code: 'payload_too_large',
      message: 'The Parquet file has 1001 values, where 1000 are allowed.',
    },
  );
});

test('a file that takes too long is given up, and the next one is not', async () => {
  const fixture = await startFiles({ conversionTimeoutMs: 100 });
  const path = await writeSame(fixture.path(), 20_000_000);
  await expect(fixture.files.convert({ kind: 'parquet', path }, fixture.path(), { compression })).rejects.toMatchObject(
    {
      code: 'deadline_exceeded',
      message: 'The file did not become a frame within 100 ms.',
    },
  );
  const short = await writeSame(fixture.path(), 1);
  await expect
    .poll(() => fixture.files.convert({ kind: 'parquet', path: short }, fixture.path(), { compression }))
    .toMatchObject({ rows: 1 });
});
