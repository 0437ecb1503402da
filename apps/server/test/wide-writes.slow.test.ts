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

const FORMATS = ['lines', 'csv', 'json', 'parquet'] as const;

interface WideUpload {
  readonly path: string;
  readonly type: string;
  readonly body: string | ArrayBuffer;
}

async function uploadOf(format: (typeof FORMATS)[number], { server, beta }: TwoTenants): Promise<WideUpload> {
  const path = '/frames/wide';
  if (format === 'lines') return { path: '/write', type: 'text/plain', body: `t ${wide.join('=1,')}=1\n` };
  const row = Object.fromEntries(wide.map((name, i) => [name, i]));
  if (format === 'json') return { path, type: 'application/json', body: JSON.stringify([row, row]) };
  const csv = `${wide.join()}\n${wide.map(() => 1).join()}\n`;
  if (format === 'csv') return { path, type: 'text/csv', body: csv };
  const headers = { ...beta, 'content-type': 'text/csv' };
  expect((await server.fetch('/frames/source', { method: 'PUT', headers, body: csv })).status).toBe(201);
  const exported = await server.fetch('/exp?handle=source&fmt=parquet', { headers: beta });
  return { path, type: 'application/vnd.apache.parquet', body: await exported.arrayBuffer() };
}

test.runIf(process.platform === 'linux').each(FORMATS)(
  'a flood of wide uploads does not delay the small writes of another tenant: %s',
  async (format) => {
    const tenants = await startTwo();
    const { server, alpha, beta } = tenants;
    const { path, type, body } = await uploadOf(format, tenants);
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
