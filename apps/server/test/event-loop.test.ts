import { beforeAll, describe, expect, test } from 'vitest';
import { CAN_MEASURE, MAX_BLOCK_MS, type MeasuredServer, startMeasured } from './measured-server.ts';

/** A request that tries to keep the event loop, and the statuses it may have. */
interface Hostile {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: () => string | Uint8Array<ArrayBuffer>;
  readonly status: number;
}

const CSV = { 'content-type': 'text/csv' };

const HTTP: Readonly<Record<string, Hostile>> = {
  'a CSV file of one row': { method: 'PUT', path: '/frames/x', headers: CSV, body: () => 'a,b\n1,2\n', status: 200 },
};

describe.runIf(CAN_MEASURE)(`the event loop is kept for at most ${MAX_BLOCK_MS} ms in one piece by`, () => {
  let server: MeasuredServer;
  let end: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    server = await startMeasured({ onEnd: (ending) => void (end = ending) });
    // The first requests load modules and compile functions.
    for (let i = 0; i < 3; i += 1) await server.fetch('/frames/x', { method: 'PUT', headers: CSV, body: 'a,b\n1,2\n' });
    return async () => end?.();
  });

  test.each(Object.entries(HTTP))('%s', async (_, { method = 'GET', path, headers = {}, body, status }) => {
    const bytes = body?.() ?? null;
    await server.longestBlock();
    const response = await server.fetch(path, { method, headers, body: bytes });
    await response.arrayBuffer();
    expect({ status: response.status, ms: await server.longestBlock() }).toEqual({
      status,
      ms: expect.toSatisfy((ms: number) => ms <= MAX_BLOCK_MS),
    });
  });
});
