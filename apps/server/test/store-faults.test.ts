import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { type ServerProcess, startProcess } from './server-process.ts';

const run = promisify(execFile);
const isLinux = process.platform === 'linux';

function makeDirectory(parent = tmpdir()): string {
  const directory = mkdtempSync(join(parent, 'store-faults-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

/** The process that reads and writes the files of frames; those that run SQL are locked. */
function fileChildOf({ child }: ServerProcess): number {
  const pids = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ').map(Number);
  const pid = pids.find((one) => !readFileSync(`/proc/${one}/cmdline`, 'utf8').includes('"isLocked"'));
  if (pid === undefined) throw new Error('The server has no process for files.');
  return pid;
}

/** What `/health` and `/ready` say. */
async function stateOf(server: ServerProcess): Promise<unknown> {
  const [health, ready] = await Promise.all([server.fetch('/health'), server.fetch('/ready')]);
  const { status, parts }: { status: string; parts: { store: { faults?: { kind: string }[] } } } = JSON.parse(
    await health.text(),
  );
  const faults = parts.store.faults?.map(({ kind }) => kind) ?? [];
  return { health: health.status, status, faults, ready: ready.status };
}

const WELL = { health: 200, status: 'ok', faults: [], ready: 200 };

test.runIf(isLinux)(
  'a process for files that hangs is seen at /health and /ready, until it goes on',
  { tags: ['slow'] },
  async () => {
    const server = await startProcess({ args: ['--data-dir', makeDirectory()] });
    await server.put('t', [{ id: 1 }]);
    const pid = fileChildOf(server);
    process.kill(pid, 'SIGSTOP');
    onTestFinished(() => void process.kill(pid, 'SIGCONT'));
    const putting = server.put('u', [{ id: 2 }]);
    await expect
      .poll(() => stateOf(server))
      .toEqual({ health: 503, status: 'failing', faults: ['not_responding'], ready: 503 });
    process.kill(pid, 'SIGCONT');
    expect((await putting).status).toBe(201);
    expect(await stateOf(server)).toEqual(WELL);
  },
);

const disk = mkdtempSync(join(tmpdir(), 'read-only-disk-'));
// Only root may mount: for others there is nothing to test.
const isMounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'none', disk]).then(
  () => true,
  () => false,
);
afterAll(async () => {
  if (isMounted) await run('umount', [disk]);
  rmSync(disk, { recursive: true });
});

describe.runIf(isMounted)('a disk that becomes read-only', () => {
  const remount = (mode: 'ro' | 'rw'): Promise<unknown> => run('mount', ['-o', `remount,${mode}`, disk]);

  async function startThere(): Promise<ServerProcess> {
    const directory = mkdtempSync(join(disk, 'data-'));
    const server = await startProcess({ args: ['--parquet-path', directory] });
    await server.put('t', [{ id: 1 }]);
    onTestFinished(() => remount('rw').then(() => undefined));
    await remount('ro');
    return server;
  }

  test(
    'is seen at /health and /ready, and a put says why it fails, until it can be written again',
    { tags: ['slow'] },
    async () => {
      const server = await startThere();
      const refused = await server.put('u', [{ id: 2 }]);
      expect([refused.status, await refused.json()]).toMatchObject([
        503,
        { code: 'unavailable', error: 'The frames directory cannot be written: its file system is read-only.' },
      ]);
      expect(await stateOf(server)).toEqual({ health: 503, status: 'failing', faults: ['cannot_write'], ready: 503 });
      await remount('rw');
      await expect.poll(() => stateOf(server)).toEqual(WELL);
      expect((await server.put('u', [{ id: 2 }])).status).toBe(201);
    },
  );

  test('does not keep the server from stopping with exit code 0', { tags: ['slow'] }, async () => {
    const server = await startThere();
    server.child.kill('SIGTERM');
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect(server.log.map(({ level }) => level)).not.toContain('error');
  });
});

/** Sends requests over a persistent connection: a server without free descriptors accepts no other. */
function createAsker({ port }: ServerProcess): (path: string) => Promise<readonly [status: number, body: string]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return async (path) => {
    const [response]: IncomingMessage[] = await once(get({ agent, port, path }), 'response');
    if (response === undefined) throw new Error('There was no answer.');
    return [response.statusCode ?? 0, await text(response)];
  };
}

describe.runIf(isLinux)('a server that may open no more files', () => {
  const HANDLES = ['put', 'csv', 'parquet', 'arrow'];

  /** A server that has frames and has read none of them. */
  async function startCold(): Promise<ServerProcess> {
    const directory = makeDirectory();
    const args = ['--parquet-path', directory];
    const first = await startProcess({ args });
    await first.put('put', [{ id: 1 }]);
    await first.put('warm', [{ id: 2 }]);
    for (const fmt of ['csv', 'parquet', 'arrow']) {
      const file = await (await first.fetch(`/exp?handle=put&fmt=${fmt}`)).arrayBuffer();
      writeFileSync(join(directory, `${fmt}.${fmt}`), Buffer.from(file));
    }
    first.child.kill('SIGTERM');
    await first.exited;
    return startProcess({ args });
  }

  const limit = (pid: number, soft: string): Promise<unknown> =>
    run('prlimit', ['--pid', String(pid), `--nofile=${soft}:`]);

  // Files copied into the folder are looked up in the server itself, and Arrow files are read there, too.
  test.each<[string, (server: ServerProcess) => number, readonly number[]]>([
    ['itself', ({ child }) => child.pid ?? 0, [200, 503, 503, 503]],
    ['in its process for files', fileChildOf, [503, 503, 503, 200]],
  ])('%s reads every frame again when it may', { tags: ['slow'] }, async (_, pidOf, statuses) => {
    const server = await startCold();
    const ask = createAsker(server);
    await ask('/exec?handle=warm&fmt=json');
    const pid = pidOf(server);
    await limit(pid, '3');
    const seen: (readonly [number, string])[] = [];
    for (const handle of HANDLES) seen.push(await ask(`/exec?handle=${handle}&fmt=json`));
    expect(seen.map(([status]) => status)).toEqual(statuses);
    for (const [, body] of seen.filter(([status]) => status === 503)) {
      expect(JSON.parse(body)).toMatchObject({ code: 'unavailable', hint: expect.stringContaining('ulimit -n') });
    }
    expect(JSON.stringify(server.log)).toMatch(/EMFILE|Too many open files/);
    await limit(pid, '1024');
    for (const handle of HANDLES) {
      const answer = await ask(`/exec?handle=${handle}&fmt=json`);
      expect(answer).toEqual([200, expect.stringContaining('"dataset":[[1]]')]);
    }
    await expect.poll(() => stateOf(server)).toEqual(WELL);
  });
});

test.runIf(isLinux)(
  'a file that grows beyond the size that the system allows is 507, of SQL too, and leaves no frame',
  { tags: ['slow'] },
  async () => {
    const server = await startProcess({ args: ['--data-dir', makeDirectory()] });
    await server.put('t', [{ id: 1 }]);
    for (const pid of [server.child.pid, fileChildOf(server)]) {
      await run('prlimit', ['--pid', String(pid), '--fsize=100000:']);
    }
    const sql = 'select range as id, md5(range::varchar) as text from range(100000)';
    const kept = await server.fetch('/frames', {
      method: 'POST',
      body: JSON.stringify({ sql, engine: 'local', handle: 'kept' }),
      headers: { 'content-type': 'application/json' },
    });
    const put = await server.fetch('/frames/put?fmt=csv', { method: 'PUT', body: `id\n${'1234567\n'.repeat(50_000)}` });
    for (const response of [kept, put]) {
      expect([response.status, await response.json()]).toMatchObject([507, { code: 'out_of_disk' }]);
    }
    const { frames } = (await (await server.fetch('/frames')).json()) as { frames: { handle: string }[] };
    expect(frames.map(({ handle }) => handle)).toEqual(['t']);
  },
);
