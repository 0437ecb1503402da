import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceError } from '@svc/errors';
import { expect, onTestFinished, test } from 'vitest';
import { ChildError } from '../../child-link/child-errors.ts';
import { UNKNOWN_CSV_DIALECT, withUniformLines } from './faults.ts';
import type { FileSource } from '../frame-files.ts';

/** The error of a CSV file whose dialect DuckDB does not detect. */
const UNDETECTED = new ServiceError('invalid_data', UNKNOWN_CSV_DIALECT, {
  cause: new ChildError({ code: 'duckdb', message: 'Error when sniffing file' }),
});

/** Writes a file with two kinds of line ends. */
async function mixedFile(): Promise<{ readonly source: FileSource; readonly target: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-lines-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const path = join(directory, 'upload.csv');
  await writeFile(path, 'a,b\r\n1,2\n3,"4\r\n5"\r');
  return { source: { kind: 'csv', path }, target: join(directory, 'frame.parquet') };
}

test('the copy with uniform line ends is readable by its owner alone, and is removed', async () => {
  const { source, target } = await mixedFile();
  const found = await withUniformLines(source, target, async ({ path }) => {
    if (path === source.path) throw UNDETECTED;
    return { path, text: await readFile(path, 'utf8'), mode: (await stat(path)).mode & 0o777 };
  });
  expect(found).toEqual({ path: `${target}.lines`, text: 'a,b\n1,2\n3,"4\r\n5"\n', mode: 0o600 });
  await expect(stat(found.path)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('the copy with uniform line ends does not replace another file', async () => {
  const { source, target } = await mixedFile();
  await writeFile(`${target}.lines`, 'other');
  const copied = withUniformLines(source, target, () => Promise.reject(UNDETECTED));
  await expect(copied).rejects.toMatchObject({ code: 'EEXIST' });
  expect(await readFile(`${target}.lines`, 'utf8')).toBe('other');
});
