import type { DuckDBConnection } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { DuckDBInstance } from '../node-api.ts';
import { withLargeBuffer } from './read-rows.ts';

const DEFAULT = '976.5 KiB';
const LARGE = '15.2 MiB';

async function bufferOf(connection: DuckDBConnection): Promise<unknown> {
  const reader = await connection.runAndReadAll(`SELECT current_setting('streaming_buffer_size')`);
  return reader.getRowsJson()[0]?.[0];
}

test('the first eight long reads at a time have a larger buffer, and another one when a buffer is free', async () => {
  const instance = await DuckDBInstance.create(':memory:');
  const read = async (ended: Promise<void>, found: (buffer: unknown) => void): Promise<void> => {
    const connection = await instance.connect();
    await withLargeBuffer(connection, async () => {
      found(await bufferOf(connection));
      await ended;
    });
    connection.closeSync();
  };
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const reads: Promise<void>[] = [];
  const buffers: unknown[] = [];
  for (let i = 0; i < 9; i++) {
    buffers.push(await new Promise((resolve) => reads.push(read(ended, resolve))));
  }
  expect(buffers).toEqual([...Array.from({ length: 8 }, () => LARGE), DEFAULT]);
  end();
  await Promise.all(reads);
  const next = await new Promise((resolve) => reads.push(read(ended, resolve)));
  expect(next).toBe(LARGE);
  await Promise.all(reads);
});

test('a read that fails gives its buffer back', async () => {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  for (let i = 0; i < 9; i++) {
    const failed = withLargeBuffer(connection, () => Promise.reject(new Error(`read ${i}`)));
    await expect(failed).rejects.toThrow(`read ${i}`);
  }
  await connection.run('RESET streaming_buffer_size');
  await expect(withLargeBuffer(connection, () => bufferOf(connection))).resolves.toBe(LARGE);
  connection.closeSync();
});
