import { tmpdir } from 'node:os';

import { storeContract } from '@svc/frames/testing';
import { afterAll, afterEach, beforeEach } from 'vitest';
import { createStoreFixture, type StoreFixture } from '../testing/store-fixture.ts';
import { createTestFiles, FILE_KINDS } from '../testing/test-files.ts';

const fixtures: StoreFixture[] = [];

// A test cannot choose when a disk is full.
beforeEach(({ task, skip }) => skip(task.name.startsWith('a frame that does not fit')));

afterEach(async () => {
  await Promise.all(fixtures.splice(0).map((fixture) => fixture.remove()));
});

for (const kind of FILE_KINDS) {
  const files = createTestFiles(kind, tmpdir());
  afterAll(() => files.close());

  storeContract(`the durable store with ${kind} files`, async ({ maxBytes }) => {
    const fixture = await createStoreFixture(files);
    fixtures.push(fixture);
    const store = await fixture.open({ cacheBytes: maxBytes });
    // The free space changes independently of the store.
    const usage = async () => ({ ...(await store.usage()), freeBytes: 0 });
    return { ...store, usage };
  });
}
