/**
 * A process to be killed while it works. It prints the contents of the store, then changes frames until it is killed, and
 * prints a line when a change begins and when it was acknowledged.
 */
import { writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { parseHandle, type Store } from '@svc/frames';
import { createDurableStore } from '../store/durable-store.ts';
import { longFrame } from './long-frame.ts';
import { createTestFiles } from './test-files.ts';

/** The contents of a handle: the first column of its rows, and whether it expires. */
export interface CrashState {
  readonly ids: readonly number[];
  readonly isExpiring: boolean;
}

/** One change of a handle. */
export interface CrashChange {
  readonly tenant: string;
  readonly handle: string;
  readonly kind: 'put' | 'append' | 'drop' | 'expire' | 'rename';
  /** The new handle of a rename. */
  readonly to?: string;
  readonly start: number;
  readonly count: number;
  readonly isExpiring: boolean;
}

/** A line that the process prints. */
export type CrashLine =
  | { readonly said: 'holds'; readonly frames: readonly (CrashState & { tenant: string; handle: string })[] }
  | { readonly said: 'begins'; readonly id: number; readonly change: CrashChange }
  | { readonly said: 'done'; readonly id: number }
  | { readonly said: 'failed'; readonly id: number };

const [, , directory = '', kind = '', seed = '0'] = process.argv;
const TENANTS = ['default', 'Other'];
const TTL_SECONDS = 100_000;
let ids = Number(seed) * 1_000_000;

// A single synchronous write: acknowledged changes must be known even if the process dies the next moment.
const say = (line: CrashLine): void => void writeSync(1, `${JSON.stringify(line)}\n`);

async function tell(store: Store): Promise<void> {
  const frames = [];
  for (const tenant of TENANTS) {
    for (const { handle, expires, rows } of await store.list(tenant)) {
      const frame = await store.open({ tenant, handle });
      const read: number[] = [];
      for await (const batch of frame?.read().batches ?? []) {
        for (let row = 0; row < batch.numRows; row++) read.push(Number(batch.getChildAt(0)?.get(row)));
      }
      frame?.close();
      if (rows !== null && read.length !== rows) throw new Error(`${handle} has ${read.length} rows, not ${rows}.`);
      frames.push({ tenant, handle, ids: read, isExpiring: expires !== null });
    }
  }
  say({ said: 'holds', frames });
}

async function apply(store: Store, change: CrashChange): Promise<void> {
  const ref = { tenant: change.tenant, handle: parseHandle(change.handle) };
  const rows = longFrame(change.count, change.start);
  const options = change.isExpiring ? { ttlSeconds: TTL_SECONDS } : {};
  if (change.kind === 'put') await store.put(ref, rows, options);
  else if (change.kind === 'append') await store.append(ref, rows);
  else if (change.kind === 'drop') await store.drop(ref);
  else if (change.kind === 'rename') await store.rename(ref, parseHandle(change.to ?? ''));
  else await store.expire(ref, change.isExpiring ? TTL_SECONDS : null);
}

async function write(store: Store, tenant: string, handle: string, kinds: readonly CrashChange['kind'][]) {
  for (;;) await changeOnce(store, { tenant, handle, kind: oneOf(kinds) });
}

/** Changes one frame and gives it the other handle, in turns. */
async function move(store: Store, tenant: string) {
  const [first, second] = [parseHandle('moving-1'), parseHandle('moving-2')];
  for (;;) {
    const isSecond = (await store.handles?.(tenant))?.includes(second) === true;
    const [handle, to] = isSecond ? [second, first] : [first, second];
    await changeOnce(store, { tenant, handle, to, kind: oneOf(['put', 'append', 'rename', 'rename']) });
  }
}

function oneOf(kinds: readonly CrashChange['kind'][]): CrashChange['kind'] {
  return kinds[Math.floor(Math.random() * kinds.length)] ?? 'put';
}

async function changeOnce(store: Store, what: Pick<CrashChange, 'tenant' | 'handle' | 'kind' | 'to'>): Promise<void> {
  const id = ids++;
  const count = 1 + Math.floor(Math.random() * 50);
  ids += count;
  const change: CrashChange = { ...what, start: id, count, isExpiring: Math.random() < 0.3 };
  say({ said: 'begins', id, change });
  // A change may fail only because the engine child is killed too.
  const said = await apply(store, change).then(
    () => 'done' as const,
    () => 'failed' as const,
  );
  say({ said, id });
}

const store = await createDurableStore({
  directory,
  files: createTestFiles(kind, tmpdir()),
  cacheBytes: 50_000,
  // Merges are frequent, so that many are interrupted.
  mergeAbove: 3,
});
await tell(store);
const own = ['a', 'b', 'c'].flatMap((handle) => TENANTS.map((tenant) => ({ tenant, handle })));
await Promise.all([
  ...own.map(({ tenant, handle }) =>
    write(store, tenant, handle, ['put', 'put', 'append', 'append', 'drop', 'expire']),
  ),
  ...TENANTS.map((tenant) => move(store, tenant)),
  ...Array.from({ length: 4 }, () => write(store, 'default', 'shared', ['append'])),
]);
