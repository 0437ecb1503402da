import { tmpdir } from 'node:os';
import { afterAll, afterEach, beforeEach, describe, test } from 'vitest';
import { createStoreFixture, type StoreFixture } from '../../src/testing/store-fixture.ts';
import { createTestFiles, FILE_KINDS } from '../../src/testing/test-files.ts';
import { readAmongChanges } from '../read-among-changes.ts';

describe.each(FILE_KINDS)('with %s files', (kind) => {
  const files = createTestFiles(kind, tmpdir());
  let fixture: StoreFixture;

  beforeEach(async () => {
    fixture = await createStoreFixture(files);
  });

  afterEach(() => fixture.remove());
  afterAll(() => files.close());

  // No tier, one for about three of the frames, so that they come and go, and one for all of them.
  test.each([0, 20_000, 1e9])('with %i bytes of memory a read among changes is of one whole version', (cacheBytes) =>
    readAmongChanges(fixture, cacheBytes),
  );
});
