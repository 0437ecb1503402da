import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { BODIES, jsonRows, put, ROWS } from './large-bodies.ts';
import { type ServerProcess, startProcess } from './server-process.ts';

const CACHE_BYTES = 20e6;
const ALLOWED_GROWTH_BYTES = 100e6;

/** Two passes over such a body take some seconds on a busy machine. */
const TIMEOUT_MS = 60_000;

function rssOf({ child }: ServerProcess): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024;
}

describe.skipIf(process.platform !== 'linux')('an upload of several times the memory for frames', () => {
  test.each(Object.entries(BODIES))(
    'of %s is taken, and the server grows by little',
    async (type, body) => {
      const server = await startProcess({ args: ['--cache-size', String(CACHE_BYTES / 1e9)] });
      // Excludes the memory that the process allocates once, for the first requests.
      for (let times = 0; times < 4; times++) await (await put(server, type, body(ROWS / 7))).text();
      const before = rssOf(server);
      let most = before;
      const timer = setInterval(() => (most = Math.max(most, rssOf(server))), 20);
      const answer = await put(server, type, body()).finally(() => clearInterval(timer));
      expect([answer.status, await answer.json()]).toMatchObject([
        200,
        { rows: type.includes('json') ? ROWS + 1 : ROWS, tier: 'disk' },
      ]);
      expect(most - before).toBeLessThan(ALLOWED_GROWTH_BYTES);
      const tail = await server.fetch(`/exec?handle=t&fmt=json&cols=id&limit=${ROWS},`);
      expect(await tail.json()).toMatchObject({ dataset: type.includes('json') ? [[ROWS - 1], [-1]] : [[ROWS - 1]] });
    },
    TIMEOUT_MS,
  );

  test(
    'with a row that is wrong at its end is 400 with that row, and the old frame stays',
    async () => {
      const server = await startProcess({ args: ['--cache-size', String(CACHE_BYTES / 1e9)] });
      await server.put('t', [{ id: 1 }]);
      for (const [type, body] of [
        ['application/json', jsonRows('[', ',', '{"id":nope}]')],
        ['application/x-ndjson', jsonRows('', '\n', '{"id":nope}\n')],
      ] as const) {
        const answer = await put(server, type, body);
        expect([answer.status, await answer.json()]).toMatchObject([
          400,
          { code: 'invalid_data', error: expect.stringMatching(/^Row 140001, column "id"/) },
        ]);
      }
      expect(await (await server.fetch('/exec?handle=t&fmt=json')).json()).toMatchObject({ dataset: [[1]] });
    },
    TIMEOUT_MS,
  );
});
