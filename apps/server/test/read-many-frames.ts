import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { expect, onTestFinished } from 'vitest';
import { startProcess } from './server-process.ts';

/** The frames, how often one of them is read, and the size of the cache. */
export interface ManyReads {
  readonly frames: number;
  readonly reads: number;
  readonly cacheBytes: number;
}

/** A frame is half a MB. */
const ROWS = 62_500;

/** Reads frames of a server one after the other; returns the most memory that its process took. */
export async function readManyFrames({ frames, reads, cacheBytes }: ManyReads): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-data-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const args = ['--data-dir', directory, '--cache-size', String(cacheBytes / 1e9)];
  const server = await startProcess({ args });
  const ids = Float64Array.from({ length: ROWS }, (_, i) => Math.sin(i));
  const body = new Uint8Array(tableToIPC(tableFromArrays({ ids }), 'stream'));
  await server.fetch('/frames/first?fmt=arrow', { method: 'PUT', body });
  const folder = join(directory, 'cold', 'default', 'first');
  const file = readdirSync(folder).find((name) => name.endsWith('.parquet')) ?? '';
  for (let i = 0; i < frames; i++) {
    copyFileSync(join(folder, file), join(directory, 'cold', `f${i}.parquet`));
  }
  let most = 0;
  const sizes = new Set<number>();
  for (let i = 0; i < reads; i++) {
    const path = `/exp?handle=f${(i * 7919) % frames}&fmt=arrow`;
    const answer = await server.fetch(path, { headers: { 'accept-encoding': 'identity' } });
    sizes.add((await answer.arrayBuffer()).byteLength);
    const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
    most = Math.max(most, Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024);
  }
  expect(sizes.size).toBe(1);
  return most;
}
