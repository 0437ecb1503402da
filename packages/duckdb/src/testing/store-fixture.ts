import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FrameInfo, type FrameRef, type ListOptions, parseHandle, type Store } from '@svc/frames';
import { readRows } from '@svc/frames/testing';
import { createDurableStore, type DurableStore, type DurableStoreOptions } from '../store/durable-store.ts';
import type { FrameFiles } from '../files/frame-files.ts';
import { createArrowFrameFiles } from './arrow-frame-files.ts';

/** A directory for one test, and the stores in it. */
export interface StoreFixture {
  readonly directory: string;
  /** The folder of the default tenant. */
  readonly folder: string;
  open(options?: Partial<DurableStoreOptions>): Promise<DurableStore>;
  /**
   * The files of the default tenant. A part of a frame is `<folder>/<version>.parquet`, without its random digits; a frame
   * without parts is `<folder>/`. Unfinished files of processes are among them.
   */
  names(): Promise<string[]>;
  /** The paths of the unfinished files of the default tenant. */
  unfinished(): Promise<string[]>;
  /** The names, without their random digits, of the parts of the default tenant that are kept for readers. */
  pinned(): Promise<string[]>;
  /** The paths of the parts of a frame. */
  parts(handle: string): Promise<string[]>;
  /** The path of the newest entry in the log of a frame. */
  entry(handle: string): Promise<string>;
  /** Closes open stores and removes the directory. */
  remove(): Promise<void>;
}

/** Creates an empty directory. The stores use `files`, which stay open, or else Arrow files. */
export async function createStoreFixture(files?: FrameFiles): Promise<StoreFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'durable-store-'));
  const folder = join(directory, 'default');
  const stores = new Set<Store>();

  /** The paths of the files of processes for the default tenant. */
  async function filesOfProcesses(): Promise<string[]> {
    const names = await readdir(directory, { recursive: true }).catch(() => []);
    return names.filter((name) => /^\.process-[^/]+\/default\/[^/]+$/.test(name)).map((name) => join(directory, name));
  }

  async function unfinished(): Promise<string[]> {
    return (await filesOfProcesses()).filter((path) => basename(path).startsWith('.tmp-'));
  }

  return {
    directory,
    folder,
    async open(options = {}) {
      const kept = files ? { ...files, close: async () => {} } : createArrowFrameFiles();
      const store = await createDurableStore({ directory, files: kept, ...options });
      stores.add(store);
      return {
        ...store,
        close: async () => {
          if (stores.delete(store)) await store.close();
        },
      };
    },
    unfinished,
    async pinned() {
      const names = (await filesOfProcesses()).map((path) => withoutDigits(basename(path)));
      return names.filter((name) => !name.startsWith('.tmp-')).toSorted();
    },
    async names() {
      const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
      const names = entries.map(async (entry) => {
        if (!entry.isDirectory()) return [entry.name];
        const inside = (await readdir(join(folder, entry.name))).filter((name) => name !== '_delta_log');
        const parts = inside.map((name) => `${entry.name}/${withoutDigits(name)}`);
        return parts.length > 0 ? parts : [`${entry.name}/`];
      });
      const own = (await unfinished()).map((path) => basename(path));
      return [...(await Promise.all(names)).flat(), ...own].toSorted();
    },
    async parts(handle) {
      const names = await readdir(join(folder, handle));
      return names.flatMap((name) => (name.endsWith('.parquet') ? join(folder, handle, name) : [])).toSorted();
    },
    async entry(handle) {
      const log = join(folder, handle, '_delta_log');
      const names = (await readdir(log)).filter((name) => /^[0-9]{20}\.json$/.test(name));
      return join(log, names.toSorted().at(-1) ?? '');
    },
    async remove() {
      await Promise.all([...stores].map((store) => store.close()));
      await rm(directory, { recursive: true });
    },
  };
}

function withoutDigits(part: string): string {
  return part.replace(/-[0-9a-f]{8}(?=\.parquet$)/, '');
}

/** A frame of the default tenant. */
export function refOf(handle: string, tenant = 'default'): FrameRef {
  return { tenant, handle: parseHandle(handle) };
}

/** Lists frames of the default tenant when all of them are described. */
export async function listDescribed(store: Store, options?: ListOptions): Promise<readonly FrameInfo[]> {
  for (;;) {
    const listed = await store.list('default', options);
    const described = listed.flatMap((frame) => (frame.rows === null ? [] : [frame]));
    if (described.length === listed.length) return described;
    await sleep(10);
  }
}

/** Returns the rows of a frame, or undefined if there is none. */
export async function rowsOf(store: Store, ref: FrameRef): Promise<unknown[][] | undefined> {
  const frame = await store.open(ref);
  if (frame === undefined) return undefined;
  try {
    return await readRows(frame.read());
  } finally {
    frame.close();
  }
}
