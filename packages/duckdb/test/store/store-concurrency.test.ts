import { tmpdir } from 'node:os';
import { onTestFinished, test } from 'vitest';
import { createStoreFixture } from '../../src/testing/store-fixture.ts';
import { createTestFiles } from '../../src/testing/test-files.ts';
import { readAmongChanges } from '../read-among-changes.ts';

test('a read among changes is of one whole version, with memory for about three of the frames', async () => {
  const files = createTestFiles('duckdb', tmpdir());
  onTestFinished(() => files.close());
  const fixture = await createStoreFixture(files);
  onTestFinished(() => fixture.remove());
  await readAmongChanges(fixture, 20_000);
});
