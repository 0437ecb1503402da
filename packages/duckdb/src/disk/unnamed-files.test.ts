import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readRange } from './unnamed-files.ts';

test('a chunk of a reader that has left stays as it is while others read', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-range-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'file');
  const half = 1024 * 1024;
  await writeFile(path, Buffer.concat([Buffer.alloc(half, 'a'), Buffer.alloc(half, 'b')]));
  const file = await open(path);
  onTestFinished(() => file.close());
  const reader = readRange(file, { start: 0, end: half }, { reuseBuffers: true });
  const { value: chunk } = await reader.next();
  await reader.return();
  for await (const other of readRange(file, { start: half, end: 2 * half }, { reuseBuffers: true })) {
    expect(Buffer.from(other).every((byte) => byte === 'b'.charCodeAt(0))).toBe(true);
  }
  expect(Buffer.from(chunk ?? []).every((byte) => byte === 'a'.charCodeAt(0))).toBe(true);
});
