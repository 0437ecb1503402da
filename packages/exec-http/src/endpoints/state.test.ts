import { createMemoryStore, type StoreFault } from '@svc/frames';
import { createService } from '@svc/service';
import { expect, onTestFinished, test } from 'vitest';
import { createExecApp } from '../create-exec-app.ts';

const DAMAGED: StoreFault = { kind: 'damaged_frame', message: 'The file of the frame is damaged.', handle: 'a' };
const READ_ONLY: StoreFault = { kind: 'cannot_write', message: 'The file system is read-only.' };
const SILENT: StoreFault = { kind: 'not_responding', message: 'The engine does not answer.' };

interface State {
  readonly faults?: readonly StoreFault[];
  readonly minFreeBytes?: number;
  readonly isStarting?: boolean;
  readonly isDraining?: boolean;
  readonly isStopping?: boolean;
}

function appIn({
  faults = [],
  minFreeBytes = 0,
  isStarting,
  isDraining,
  isStopping,
}: State): ReturnType<typeof createExecApp> {
  const service = createService({
    store: { ...createMemoryStore({ maxBytes: 1000 }), faults: async () => faults },
    minFreeBytes,
  });
  onTestFinished(() => service.close());
  if (isDraining === true) service.drain();
  if (isStopping === true) service.stop();
  return createExecApp({ service, isStarting: () => isStarting === true });
}

test.each<[string, State, string | undefined]>([
  ['works', {}, undefined],
  ['has a damaged frame', { faults: [DAMAGED] }, undefined],
  ['starts', { isStarting: true }, 'The server is starting.'],
  ['drains', { isDraining: true }, 'The server is draining: it answers requests, and stops soon.'],
  ['stops', { isDraining: true, isStopping: true }, 'The server is stopping.'],
  ['has just enough space', { minFreeBytes: 1000 }, undefined],
  ['lacks space', { minFreeBytes: 1001 }, 'The store has less free space than storage.min_free_bytes (1001).'],
  ['cannot write', { faults: [DAMAGED, READ_ONLY] }, 'The file system is read-only.'],
  [
    'neither reads nor writes',
    { faults: [SILENT, READ_ONLY] },
    'The engine does not answer. The file system is read-only.',
  ],
])('a server that %s reports it at /ready and /readyz, and is alive', async (_, state, reason) => {
  const app = appIn(state);
  for (const path of ['/ready', '/readyz']) {
    const response = await app.request(path);
    const body: unknown = await response.json();
    if (reason === undefined) {
      expect([response.status, body]).toEqual([200, { status: 'ready' }]);
    } else {
      const error = { error: reason, code: 'unavailable', hint: 'GET /health shows the state of each part.' };
      expect([response.status, body]).toEqual([503, { ...error, requestId: response.headers.get('x-request-id') }]);
    }
  }
  const live = await app.request('/livez');
  expect([live.status, await live.json()]).toEqual([200, { status: 'alive' }]);
});

test.each(['/ready', '/readyz', '/livez'])('%s answers only GET and HEAD', async (path) => {
  const app = appIn({});
  expect((await app.request(path, { method: 'HEAD' })).status).toBe(200);
  const refused = await app.request(path, { method: 'POST' });
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});
