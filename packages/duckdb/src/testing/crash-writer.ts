/**
 * A process that is killed while it works: it tells what the store holds, then changes frames without an end, and says
 * of each change when it begins and when it was acknowledged.
 */
import { writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { parseHandle, type Store } from '@svc/frames';
import { createDurableStore } from '../store/create-durable-store.ts';
import { longFrame } from './long-frame.ts';
import { createTestFiles } from './test-files.ts';

/** What a handle holds: the first column of its rows, and whether its life ends. */
export interface CrashState {
  readonly ids: readonly number[];
  readonly isMortal: boolean;
}

/** One change of a handle. */
export interface CrashChange {
  readonly tenant: string;
  readonly handle: string;
  readonly kind: 'put' | 'append' | 'drop' | 'expire';
  readonly start: number;
  readonly count: number;
  readonly isMortal: boolean;
}

/** What the process says, a line each. */
export type CrashLine =
  | { readonly said: 'holds'; readonly frames: readonly (CrashState & { tenant: string; handle: string })[] }
  | { readonly said: 'begins'; readonly id: number; readonly change: CrashChange }
  | { readonly said: 'done'; readonly id: number }
  | { readonly said: 'failed'; readonly id: number };

const [, , directory = '', kind = '', seed = '0'] = process.argv;
const TENANTS = ['default', 'Other'];
const TTL_SECONDS = 100_000;
let ids = Number(seed) * 1_000_000;

// In one piece and at once: what was acknowledged must be known though the process ends in the next moment.
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
      if (read.length !== rows) throw new Error(`${handle} has ${read.length} rows, not ${rows}.`);
      frames.push({ tenant, handle, ids: read, isMortal: expires !== null });
    }
  }
  say({ said: 'holds', frames });
}

async function apply(store: Store, change: CrashChange): Promise<void> {
  const ref = { tenant: change.tenant, handle: parseHandle(change.handle) };
  const rows = longFrame(change.count, change.start);
  const life = change.isMortal ? { ttlSeconds: TTL_SECONDS } : {};
  if (change.kind === 'put') await store.put(ref, rows, life);
  else if (change.kind === 'append') await store.append(ref, rows);
  else if (change.kind === 'drop') await store.drop(ref);
  else await store.expire(ref, change.isMortal ? TTL_SECONDS : null);
}

async function write(store: Store, tenant: string, handle: string, kinds: readonly CrashChange['kind'][]) {
  for (;;) {
    const id = ids++;
    const count = 1 + Math.floor(Math.random() * 50);
    ids += count;
    const change: CrashChange = {
      tenant,
      handle,
      kind: kinds[Math.floor(Math.random() * kinds.length)] ?? 'put',
      start: id,
      count,
      isMortal: Math.random() < 0.3,
    };
    say({ said: 'begins', id, change });
    // Only the process that reads and writes files may fail: it is killed too.
    const said = await apply(store, change).then(
      () => 'done' as const,
      () => 'failed' as const,
    );
    say({ said, id });
  }
}

const store = await createDurableStore({
  directory,
  files: createTestFiles(kind, tmpdir()),
  cacheBytes: 50_000,
});
await tell(store);
const own = ['a', 'b', 'c'].flatMap((handle) => TENANTS.map((tenant) => ({ tenant, handle })));
await Promise.all([
  ...own.map(({ tenant, handle }) =>
    write(store, tenant, handle, ['put', 'put', 'append', 'append', 'drop', 'expire']),
  ),
  write(store, 'default', 'shared', ['append']),
  write(store, 'default', 'shared', ['append']),
]);
