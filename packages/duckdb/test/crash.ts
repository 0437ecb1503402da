import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { CrashChange, CrashLine, CrashState } from '../src/testing/crash-writer.ts';
import { FRAME_CODEC } from '../src/store/log/frame-entry.ts';
import { createStoreFixture, listDescribed } from '../src/testing/store-fixture.ts';
import { createTestFiles } from '../src/testing/test-files.ts';

const program = fileURLToPath(new URL('../dist/testing/crash-writer.js', import.meta.url));

/** What a handle may hold: undefined = there is no frame. */
type Possible = (CrashState & { readonly handle: string }) | undefined;

const idsOf = ({ start, count }: CrashChange): number[] => Array.from({ length: count }, (_, i) => start + i);

function after(state: Possible, change: CrashChange): Possible {
  if (change.kind === 'drop') return undefined;
  const { handle, to = handle } = change;
  if (change.kind === 'put') return { handle, ids: idsOf(change), isExpiring: change.isExpiring };
  if (change.kind === 'rename') return state && { ...state, handle: to };
  if (change.kind === 'expire') return state && { ...state, isExpiring: change.isExpiring };
  return { handle, ids: [...(state?.ids ?? []), ...idsOf(change)], isExpiring: state?.isExpiring ?? false };
}

interface Round {
  readonly holds: ReadonlyMap<string, Possible>;
  /** Without those that failed: they have changed nothing. */
  readonly changes: readonly { readonly change: CrashChange; readonly isDone: boolean }[];
  readonly failures: number;
}

/** Kills the processes that a process has started, where the system tells which those are. */
async function killChildren(pid: number): Promise<void> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  for (const child of children.split(' ').filter((text) => text !== '')) {
    try {
      process.kill(Number(child), 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
}

/** One run of the process, killed this many milliseconds after its first change. */
async function live(directory: string, kind: string, seed: number, lifeMs: number): Promise<Round> {
  const child = spawn(process.execPath, [program, directory, kind, String(seed)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  let holds: ReadonlyMap<string, Possible> | undefined;
  const begun = new Map<number, CrashChange>();
  const done = new Set<number>();
  let failures = 0;
  for await (const text of createInterface(child.stdout)) {
    // The last line of a process that was killed may be cut.
    if (!text.endsWith('}')) continue;
    const line = JSON.parse(text) as CrashLine;
    if (line.said === 'begins') begun.set(line.id, line.change);
    else if (line.said === 'done') done.add(line.id);
    else if (line.said === 'failed') failures += begun.delete(line.id) ? 1 : 0;
    else {
      holds = new Map(line.frames.map(({ tenant, ...state }) => [keyOf({ tenant, ...state }), state]));
      // A frame that is renamed is never under both handles.
      expect(holds.size).toBe(line.frames.length);
      if (seed % 2 === 1) void sleep(Math.random() * lifeMs).then(() => killChildren(child.pid!));
      void sleep(lifeMs).then(() => child.kill('SIGKILL'));
    }
  }
  const [code, signal] = (await ended) as [number | null, string | null];
  expect([code, signal, holds !== undefined]).toEqual([null, 'SIGKILL', true]);
  return { holds: holds!, changes: [...begun].map(([id, change]) => ({ change, isDone: done.has(id) })), failures };
}

/** Fails where a handle holds something else than what was acknowledged, or that and the change that was under way. */
function check(key: string, found: Possible, before: Possible, changes: Round['changes']): void {
  const possible = changes.reduce<Possible[]>(
    (states, { change, isDone }) => {
      const next = states.map((state) => after(state, change));
      return isDone ? next : [...states, ...next];
    },
    [before],
  );
  expect(possible, key).toContainEqual(found);
}

/** Appends of several writers: each that was acknowledged is there whole and once, the others whole or not at all. */
function checkShared(found: Possible, before: Possible, changes: Round['changes']): void {
  const ids = found?.ids ?? [];
  const old = before?.ids ?? [];
  expect(ids.slice(0, old.length)).toEqual(old);
  let rest = ids.length - old.length;
  for (const { change, isDone } of changes) {
    const at = ids.indexOf(change.start);
    if (at < 0 && !isDone) continue;
    expect(ids.slice(at, at + change.count)).toEqual(idsOf(change));
    rest -= change.count;
  }
  expect(rest).toBe(0);
}

/** What happened in all lives. */
export interface Crashes {
  readonly acknowledged: number;
  readonly failures: number;
}

/** Kills a process that changes frames, again and again; fails where something else is there than was acknowledged. */
export async function crash(kind: string, rounds: number): Promise<Crashes> {
  const fixture = await createStoreFixture();
  let before: ReadonlyMap<string, Possible> = new Map();
  let changes: Round['changes'] = [];
  let acknowledged = 0;
  let failures = 0;
  for (let round = 0; round <= rounds; round++) {
    const next = await live(fixture.directory, kind, round, round === rounds ? 0 : Math.random() * 400);
    const keys = new Set([...next.holds.keys(), ...before.keys(), ...changes.map(({ change }) => keyOf(change))]);
    for (const key of keys) {
      const own = changes.filter(({ change }) => keyOf(change) === key);
      if (key === 'default/shared') checkShared(next.holds.get(key), before.get(key), own);
      else check(key, next.holds.get(key), before.get(key), own);
    }
    acknowledged += changes.filter(({ isDone }) => isDone).length;
    failures += next.failures;
    before = next.holds;
    changes = next.changes;
  }
  const store = await fixture.open({ files: createTestFiles(kind, tmpdir()) });
  const frames = (await listDescribed(store)).length;
  await store.close();
  await checkFiles(join(fixture.directory, 'default'), frames);
  for (const name of (await readdir(fixture.directory)).filter((one) => one.startsWith('.process-'))) {
    // Its process was killed before it had the lock of the folder, and so before it put anything there.
    const inside = await readdir(join(fixture.directory, name));
    expect(inside.filter((file) => !file.startsWith('.new.lock-'))).toEqual([]);
  }
  await fixture.remove();
  return { acknowledged, failures };
}

/** Fails unless a folder has exactly the files of this number of frames. */
async function checkFiles(folder: string, frames: number): Promise<void> {
  // A process that was killed before its first change has made no folder.
  const names = existsSync(folder) ? await readdir(folder) : [];
  expect(names).toHaveLength(frames);
  for (const name of names) {
    const log = join(folder, name, '_delta_log');
    const entries = (await readdir(log)).filter((entry) => entry.endsWith('.json'));
    const newest = entries.toSorted().at(-1) ?? '';
    const { state } = FRAME_CODEC.decode(await readFile(join(log, newest)));
    const listed = state.rows?.parts.map(({ file }) => file) ?? [];
    expect((await readdir(join(folder, name))).toSorted()).toEqual([...listed, '_delta_log'].toSorted());
    await checkReplay(log);
  }
}

/** Fails unless another program can replay a log: from the newest checkpoint or entry 0, with no gap. */
async function checkReplay(log: string): Promise<void> {
  const names = (await readdir(log)).toSorted();
  const numbersOf = (kind: RegExp): number[] =>
    names.filter((name) => kind.test(name)).map((name) => Number.parseInt(name, 10));
  const [entries, checkpoints] = [numbersOf(/^[0-9]{20}\.json$/), numbersOf(/^[0-9]{20}\.checkpoint\.parquet$/)];
  const hasLast = names.includes('_last_checkpoint');
  expect(names).toHaveLength(entries.length + checkpoints.length + (hasLast ? 1 : 0));
  if (hasLast) {
    const { version } = JSON.parse(await readFile(join(log, '_last_checkpoint'), 'utf8')) as { version: number };
    expect(checkpoints).toContain(version);
  }
  const start = checkpoints.at(-1) ?? 0;
  expect(entries.filter((number) => number >= start)).toEqual(
    Array.from({ length: (entries.at(-1) ?? 0) - start + 1 }, (_, i) => start + i),
  );
}

/** The frame: the same for both handles of the one that is renamed. */
function keyOf({ tenant, handle }: Pick<CrashChange, 'tenant' | 'handle'>): string {
  return `${tenant}/${handle.replace(/^moving-.$/, 'moving')}`;
}
