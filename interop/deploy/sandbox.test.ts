// The server under the filter of system calls and address families that systemd sets for the unit of deploy/systemd, with the
// list of systemd itself. There need not be a running systemd.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LOCAL_LISTENERS } from '../../tools/local-listeners.js';
import { providePython } from '../../tools/python-environment.js';
import { analyze } from './systemd-analyze.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const unit = readFileSync(here('../../deploy/systemd/svc.service'), 'utf8');
const python = join(providePython('interop-deploy', here('requirements.txt')), 'python');

/** The system calls of each group, as `systemd-analyze syscall-filter` lists them. */
function readGroups(): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  let current: string[] = [];
  for (const line of analyze('syscall-filter').stdout.split('\n')) {
    if (line.startsWith('@')) groups.set(line, (current = []));
    else if (/^ {4}[@\w]/.test(line)) current.push(line.trim());
  }
  return groups;
}

const groups = readGroups();
const callsOf = (group: string): readonly string[] =>
  groups.get(group)?.flatMap((name) => (name.startsWith('@') ? callsOf(name) : [name])) ?? [];
const setting = (name: string): readonly string[] =>
  new RegExp(`^${name}=(.+)$`, 'm').exec(unit)?.[1]?.split(' ') ?? [];

const filter = JSON.stringify({
  known: callsOf('@known'),
  allowed: setting('SystemCallFilter').flatMap((name) => callsOf(name)),
  families: setting('RestrictAddressFamilies'),
});
const inSandbox = (...command: readonly string[]): readonly string[] => [here('sandbox.py'), filter, ...command];

const TRY_FORBIDDEN = `
import ctypes, socket
print(ctypes.CDLL(None).ptrace(0, 0, 0, 0))
try:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)
except OSError as error:
    print(error.strerror)
`;

test('the filter refuses what the unit does not allow', () => {
  const { stdout, stderr } = spawnSync(python, inSandbox(python, '-c', TRY_FORBIDDEN), { encoding: 'utf8' });
  expect({ stdout, stderr }).toEqual({ stdout: '-1\nAddress family not supported by protocol\n', stderr: '' });
});

describe('the server under the filter', () => {
  let folder: string;
  let server: ChildProcess;
  let url: string;
  const log: string[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-sandbox-'));
    const program = [process.execPath, here('../../apps/cli/bin/svc.js'), 'serve', ...LOCAL_LISTENERS];
    server = spawn(python, inSandbox(...program, '--log-format', 'json'), {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: folder, TMPDIR: folder, SERVICE_DATA_DIR: join(folder, 'data') },
    });
    if (server.stderr === null) throw new Error('There is no log.');
    for await (const line of createInterface({ input: server.stderr })) {
      log.push(line);
      const { message, http } = JSON.parse(line);
      if (message === 'ready') url = http;
      if (message === 'ready') break;
    }
    if (url === undefined) throw new Error(`The server ended:\n${log.join('\n')}`);
    server.stderr.resume();
  });

  afterAll(() => {
    server.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  const get = async (path: string): Promise<Response> => fetch(`${url}${path}`);

  test('stores rows and files, sorts with SQL, and writes Parquet and Arrow', async () => {
    const rows = Array.from({ length: 5000 }, (_, id) => ({ id, name: `n${id % 7}` }));
    const json = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(rows) };
    expect((await fetch(`${url}/frames/rows`, json)).status).toBe(201);
    expect((await fetch(`${url}/frames/file?fmt=csv`, { method: 'PUT', body: 'id\n1\n2\n' })).status).toBe(201);
    expect((await fetch(`${url}/frames/file?fmt=csv`, { method: 'POST', body: 'id\n3\n' })).status).toBe(200);
    const sql = encodeURIComponent(
      'select name, sum(r.id) as s from rows r join file f on r.id >= f.id group by all order by s desc',
    );
    expect(await (await get(`/exec?engine=local&fmt=json&query=${sql}`)).json()).toMatchObject({ count: 7 });
    expect((await (await get('/exp?handle=rows&fmt=parquet')).arrayBuffer()).byteLength).toBeGreaterThan(1000);
    expect((await (await get('/files/file.arrow')).arrayBuffer()).byteLength).toBeGreaterThan(100);
    expect(await (await get('/health')).json()).toMatchObject({ status: 'ok' });
    expect(await (await get('/metrics')).text()).toMatch(/^svc_ready 1$/m);
  });

  test('stops on SIGTERM with 0', async () => {
    server.kill('SIGTERM');
    expect(await once(server, 'exit')).toEqual([0, null]);
  });
});
