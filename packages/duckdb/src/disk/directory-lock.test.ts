import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DirectoryInUseError, identifyProcess, lockDirectory } from './directory-lock.ts';

let directory: string;
const children: ChildProcess[] = [];
const program = fileURLToPath(new URL('../../dist/testing/hold-directory.js', import.meta.url));

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'directory-lock-'));
});

afterEach(async () => {
  for (const child of children.splice(0)) if (child.exitCode === null && child.signalCode === null) await kill(child);
  await rm(directory, { recursive: true });
});

interface Contender {
  readonly child: ChildProcess;
  readonly pid: number;
  /** The line it printed. */
  readonly output: string;
}

async function contend(): Promise<Contender> {
  const child = spawn(process.execPath, [program, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [output] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { child, pid: child.pid!, output };
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

describe('between processes', () => {
  test('the second is refused with the process id, host and start time of the holder', { tags: ['slow'] }, async () => {
    const first = await contend();
    expect(first.output).toBe('held');
    expect((await contend()).output).toBe(`in use by ${first.pid}`);
    const error = await lockDirectory(directory).catch((refusal: unknown) => refusal);
    expect(error).toBeInstanceOf(DirectoryInUseError);
    expect(error).toMatchObject({
      message: expect.stringContaining(`process ${first.pid} on ${hostname()}, since 20`),
    });
  });

  test('a directory is free when its holder was killed', { tags: ['slow'] }, async () => {
    const first = await contend();
    await kill(first.child);
    const locks = async (): Promise<string[]> => (await readdir(directory)).filter((name) => name.startsWith('.lock'));
    const left = await locks();
    const second = await contend();
    expect(second.output).toBe('held');
    const names = await locks();
    expect(names).toHaveLength(left.length);
    expect(names.filter((name) => left.includes(name))).toEqual([]);
  });

  test(
    'exactly one of several that start at once wins over a dead holder',
    { tags: ['slow'], timeout: 60_000 },
    async () => {
      for (let round = 0; round < 2; round++) {
        const contenders = await Promise.all(Array.from({ length: 4 }, contend));
        const holders = contenders.filter(({ output }) => output === 'held');
        expect(holders).toHaveLength(1);
        for (const { output } of contenders) expect(output).toMatch(/^(held|in use by \d+)$/);
        await kill(holders[0].child);
      }
    },
  );
});

describe('in one process', () => {
  test('a directory is held once, and free after its release', async () => {
    const lock = await lockDirectory(directory);
    await expect(lockDirectory(directory)).rejects.toThrow(DirectoryInUseError);
    await lock.release();
    expect(await readdir(directory)).toEqual([]);
    await (await lockDirectory(directory)).release();
  });

  test('exactly one of many concurrent calls gets the lock', async () => {
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => lockDirectory(directory)));
    const held = results.filter((result) => result.status === 'fulfilled');
    expect(held).toHaveLength(1);
    await held[0].value.release();
  });

  test('an old lock file that was never finished is removed, a young one stays', async () => {
    for (const [name, time] of [
      ['.new.lock-old', 1],
      ['.new.lock-young', Date.now() / 1000],
    ] as const) {
      await writeFile(join(directory, name), '');
      await utimes(join(directory, name), time, time);
    }
    await (await lockDirectory(directory)).release();
    expect(await readdir(directory)).toEqual(['.new.lock-young']);
  });

  test('check fails after a takeover', async () => {
    const lock = await lockDirectory(directory);
    await lock.check();
    for (const name of await readdir(directory)) await rm(join(directory, name));
    await expect(lock.check()).rejects.toThrow('taken over');
    await lock.release();
  });
});

describe('a holder that cannot be probed', () => {
  const times = { beatMs: 10, silenceMs: 300 };
  const lockFile = (): string => join(directory, '.lock-of-another');

  async function leaveLock(changes: object): Promise<void> {
    const self = await identifyProcess();
    const holder = { ...self, since: '2001-01-01T00:00:00.000Z', ...changes };
    await writeFile(lockFile(), JSON.stringify(holder));
  }

  test.each([
    ['on another machine', { scope: 'elsewhere', host: 'other' }],
    ['without an identity', { pid: undefined, scope: undefined }],
  ])('%s is dead if it sends no heartbeats', async (_name, changes) => {
    await leaveLock(changes);
    await (await lockDirectory(directory, times)).release();
    expect(await readdir(directory)).toEqual([]);
  });

  test('on another machine is alive if it sends heartbeats, whatever its clock', async () => {
    await leaveLock({ scope: 'elsewhere', host: 'other', pid: 77 });
    await writeFile(`${lockFile()}.held`, '');
    let beat = 0;
    const beating = setInterval(() => void utimes(lockFile(), beat, ++beat).catch(() => {}), 20);
    await expect(lockDirectory(directory, times)).rejects.toThrow('process 77 on other, since 2001');
    clearInterval(beating);
    expect(await readFile(lockFile(), 'utf8')).toContain('elsewhere');
  });

  test('with the id of a live process that started at another time is dead', async () => {
    await leaveLock({ started: '1' });
    await (await lockDirectory(directory, { silenceMs: 1e9 })).release();
  });
});
