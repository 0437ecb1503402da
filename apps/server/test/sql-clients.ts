import { Agent, get } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect, onTestFinished } from 'vitest';
import { type ServerProcess, startProcess } from './server-process.ts';

/** Runs until it is stopped: every pair of a hundred thousand million. */
export const ENDLESS = 'select count(*) from range(10000000) a, range(10000000) b where a.range + b.range = -1';

const BOMB_CLIENTS = 12;

/** A client with one connection of its own: what it is answered, or the code of the error. */
function createClient({ url }: ServerProcess): (sql: string) => Promise<unknown> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return async (sql) => {
    const query = new URLSearchParams({ query: sql, engine: 'local', fmt: 'json' }).toString();
    const body = await new Promise<unknown>((resolve, reject) => {
      get(`${url}/exec?${query}`, { agent }, (response) => resolve(json(response))).on('error', reject);
    });
    const { dataset, code } = body as { dataset?: unknown; code?: string };
    return dataset ?? code;
  };
}

/** Counts a frame again and again while twelve clients run endless statements: all answers, in the order they came. */
export async function countBesideBombs(counts: number, prepare = (): void => undefined): Promise<unknown[]> {
  const server = await startProcess();
  await server.put('trades', [{ id: 1 }, { id: 2 }]);
  const ask = createClient(server);
  expect(await ask('select count(*) from trades')).toEqual([[2]]);
  prepare();
  const answers: unknown[] = [];
  for (let i = 0; i < BOMB_CLIENTS; i++) {
    createClient(server)(ENDLESS).then(
      (answer) => answers.push(answer),
      // The server ends with the test.
      () => undefined,
    );
  }
  for (let i = 0; i < counts; i++) answers.push(await ask('select count(*) from trades'));
  return answers;
}
