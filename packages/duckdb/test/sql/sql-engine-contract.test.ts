import { engineContract } from '@svc/frames/testing';
import { createSqlFixture } from '../../src/testing/sql-fixture.ts';

engineContract('the local engine', async () => {
  const maxConcurrent = 2;
  const fixture = await createSqlFixture({ maxConcurrent }, { hasTenants: true });
  return { ...fixture, maxConcurrent };
});
