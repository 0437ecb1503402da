import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createStoreFixture } from '../../src/testing/store-fixture.ts';
import { backUpAmongChanges } from '../back-up-among-changes.ts';

test('twenty backups among changes have whole frames and the right expiries', async () => {
  const fixture = await createStoreFixture();
  const folder = await mkdtemp(join(tmpdir(), 'backup-'));
  try {
    await expect(backUpAmongChanges(fixture, { folder, backups: 20 })).resolves.toBeUndefined();
  } finally {
    await fixture.remove();
    await rm(folder, { recursive: true });
  }
});
