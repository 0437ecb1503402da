import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { watchSize } from './unfinished-files.ts';

async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-size-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

test('files that grow are noticed when they exceed the limit together, and only then', async () => {
  const folder = await createFolder();
  const [first, second] = [join(folder, 'a'), join(folder, 'b')];
  let exceeded = 0;
  onTestFinished(watchSize([first, second], 100, () => (exceeded += 1)));
  await appendFile(first, Buffer.alloc(60));
  await appendFile(second, Buffer.alloc(40));
  // A second watcher sees the same bytes later: by then the first has checked them as well.
  await new Promise<void>((resolve) => onTestFinished(watchSize([first, second], 99, resolve)));
  expect(exceeded).toBe(0);
  await appendFile(second, Buffer.alloc(1));
  await expect.poll(() => exceeded).toBe(1);
});
