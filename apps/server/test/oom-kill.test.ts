// The kernel's out-of-memory killer in a real control group, where this user may create one.
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startProcess } from './server-process.ts';

/** More than a server and its children need, less than the statement. */
const LIMIT_BYTES = 400_000_000;

/** Creates a control group with a limit of memory below that of this process; undefined if that is not possible. */
function createGroup(): string | undefined {
  try {
    const groups = readFileSync('/proc/self/cgroup', 'utf8');
    const v1 = /^\d+:memory:(.*)$/m.exec(groups)?.[1];
    const own = v1 === undefined ? `/sys/fs/cgroup${/^0::(.*)$/m.exec(groups)?.[1]}` : `/sys/fs/cgroup/memory${v1}`;
    const group = join(own, `svc-test-${process.pid}`);
    mkdirSync(group);
    const limit = join(group, v1 === undefined ? 'memory.max' : 'memory.limit_in_bytes');
    if (existsSync(limit)) {
      writeFileSync(limit, String(LIMIT_BYTES));
      return group;
    }
    rmdirSync(group);
  } catch {
    // Not allowed here.
  }
  return undefined;
}

const SLOW = { tags: ['slow'], timeout: 240_000 };

test('a statement whose engine the kernel kills is out_of_memory, and others work', SLOW, async ({ skip }) => {
  const group = createGroup() ?? '';
  skip(group === '', 'No control group can be created here.');
  // The system removes ended processes from the group a moment later.
  onTestFinished(() => vi.waitFor(() => rmdirSync(group), { timeout: 15_000 }));
  const enter = `import{writeFileSync}from'node:fs';writeFileSync('${group}/cgroup.procs',String(process.pid))`;
  const server = await startProcess({
    env: {
      SERVICE_SQL_MEMORY_GB: '8',
      SERVICE_SQL_TIMEOUT_MS: '200000',
      NODE_OPTIONS: `--import "data:text/javascript,${enter}"`,
    },
  });
  const run = (sql: string) => server.fetch(`/exec?engine=local&fmt=json&query=${encodeURIComponent(sql)}`);
  const response = await run("select max(length(repeat('x', 600000000) || range)) from range(4)");
  expect([response.status, await response.json()]).toMatchObject([
    507,
    {
      code: 'out_of_memory',
      error: 'The system ended the engine while it ran the SQL: no memory was left.',
      hint: expect.stringMatching(/^Sending it again will not help\./),
    },
  ]);
  await server.logged(({ child, reason }) => child === 'sql' && reason === 'out_of_memory');
  expect((await run('select 1')).status).toBe(200);
  server.child.kill('SIGTERM');
  expect(await server.exited).toEqual({ code: 0, signal: null });
});

test('a statement whose engine is killed by another process is internal, and may be sent again', async () => {
  const server = await startProcess();
  const running = server.fetch('/exec?engine=local&fmt=json&query=select sum(range) from range(1000000000000)');
  const states = async (): Promise<unknown> => (await server.fetch('/queries')).json();
  await expect.poll(states).toMatchObject({ queries: [{ state: 'running', progress: {} }] });
  const children = readFileSync(`/proc/${server.child.pid}/task/${server.child.pid}/children`, 'utf8').trim();
  for (const pid of children.split(' ')) process.kill(Number(pid), 'SIGKILL');
  const response = await running;
  expect([response.status, await response.json()]).toMatchObject([
    500,
    { code: 'internal', hint: expect.stringMatching(/^Send the SQL again/) },
  ]);
});
