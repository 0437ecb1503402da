// Wide and many writes of one tenant do not take the file engine away from another.
import { expect, test } from 'vitest';
import { bearer, callersFileOf, createCaller } from './callers.ts';
import { childrenOf } from './children-of.ts';
import { type ServerProcess, startProcess, testFile } from './server-process.ts';

/** The columns of a wide upload: enough to be written alone, few enough for a test. */
const wide = Array.from({ length: 1100 }, (_, i) => `c${i}`);
/** The wide uploads of a flood: more than are written at once. */
const FLOOD = 10;
/** Beside a flood, the small writes of another tenant. */
const SMALL = 2;

interface TwoTenants {
  readonly server: ServerProcess;
  readonly alpha: Readonly<Record<string, string>>;
  readonly beta: Readonly<Record<string, string>>;
}

async function startTwo(): Promise<TwoTenants> {
  const [alpha, beta] = [createCaller('alpha', ['read', 'write']), createCaller('beta', ['read', 'write'])];
  const file = testFile('callers.toml', callersFileOf({ alpha, beta }));
  const server = await startProcess({ env: { SERVICE_AUTH_CALLERS_FILE: file } });
  return { server, alpha: { authorization: bearer(alpha.token) }, beta: { authorization: bearer(beta.token) } };
}

/** The largest resident memory of a child of the server, in MB. */
const childMb = (server: ServerProcess): number => Math.max(0, ...childrenOf(server).map(({ mb }) => mb));

const endedChildren = ({ log }: ServerProcess) =>
  log.filter(({ message }) => message.startsWith('A process of the engine has ended'));

const row = Object.fromEntries(wide.map((name, i) => [name, i]));
const FORMATS: Readonly<Record<string, readonly [path: string, type: string, body: string]>> = {
  lines: ['/write', 'text/plain', `t ${wide.join('=1,')}=1\n`],
  csv: ['/frames/wide', 'text/csv', `${wide.join()}\n${wide.map(() => 1).join()}\n`],
  json: ['/frames/wide', 'application/json', JSON.stringify([row, row])],
};

test.runIf(process.platform === 'linux').each(Object.keys(FORMATS))(
  'a flood of wide uploads does not delay the small writes of another tenant: %s',
  async (format) => {
    const { server, alpha, beta } = await startTwo();
    const [path, type, body] = FORMATS[format] ?? ['', '', ''];
    let ended = 0;
    const send = async (i: number): Promise<number> => {
      const url = path === '/write' ? path : `${path}${i}`;
      const headers = { ...alpha, 'content-type': type };
      const response = await server.fetch(url, { method: path === '/write' ? 'POST' : 'PUT', headers, body });
      await response.text();
      ended += 1;
      return response.status;
    };
    const flood = Promise.all(Array.from({ length: FLOOD }, (_, i) => send(i)));
    for (let i = 0; i < SMALL; i++) {
      expect((await server.put(`small${i}`, [{ a: i }], { headers: beta })).status).toBe(201);
    }
    expect(ended).toBeLessThan(FLOOD / 2);
    // On a busy machine the flood itself may wait for a decoder for too long.
    const success = path === '/write' ? 204 : 201;
    expect((await flood).filter((status) => status !== success && status !== 503)).toEqual([]);
    expect(endedChildren(server)).toEqual([]);
    await expect.poll(() => childMb(server), { timeout: 60_000 }).toBeLessThan(300);
  },
);
