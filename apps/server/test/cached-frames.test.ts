import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { expect, onTestFinished, test } from 'vitest';
import { startProcess } from './server-process.ts';

const CACHE_BYTES = 25e6;
const FRAMES = 200;
const READS = 1000;
/** A frame is half a MB: all of them are four times what the cache holds. */
const ROWS = 62_500;

test.skipIf(process.platform !== 'linux')(
  'over 1 000 reads of 200 frames the process takes no more than the cache and 256 MB',
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'svc-data-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const args = ['--data-dir', directory, '--cache-size', String(CACHE_BYTES / 1e9)];
    const server = await startProcess({ args });
    const ids = Float64Array.from({ length: ROWS }, (_, i) => Math.sin(i));
    const body = new Uint8Array(tableToIPC(tableFromArrays({ ids }), 'stream'));
    await server.fetch('/frames/first?fmt=arrow', { method: 'PUT', body });
    const [file = ''] = readdirSync(join(directory, 'cold', 'default'));
    for (let i = 0; i < FRAMES; i++) {
      copyFileSync(join(directory, 'cold', 'default', file), join(directory, 'cold', `f${i}.parquet`));
    }
    let most = 0;
    const sizes = new Set<number>();
    for (let i = 0; i < READS; i++) {
      const path = `/exp?handle=f${(i * 7919) % FRAMES}&fmt=arrow`;
      const answer = await server.fetch(path, { headers: { 'accept-encoding': 'identity' } });
      sizes.add((await answer.arrayBuffer()).byteLength);
      const status = readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
      most = Math.max(most, Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024);
    }
    expect(sizes.size).toBe(1);
    expect(most).toBeLessThan(CACHE_BYTES + 256 * 2 ** 20);
  },
  // 100 MB are read from disk five times over.
  120_000,
);
