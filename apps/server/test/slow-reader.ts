import { expect } from 'vitest';
import { residentBytes } from '../../../tools/process-resources.js';
import { startProcess } from './server-process.ts';
import { startUpstream } from './upstream.ts';

/**
 * Reads a number of MiB of a response of the time-series database through a server, slowly, after a shorter response.
 * Returns by how many MiB the server has grown meanwhile.
 */
export async function growthOfSlowRead(warmMib: number, mib: number): Promise<number> {
  const chunk = Buffer.alloc(1024 * 1024, 'x');
  const upstream = await startUpstream(({ url }, response) => {
    let left = Number(/query=(\d+)/.exec(url ?? '')?.[1]);
    const write = (): void => {
      while (left > 0) {
        left--;
        if (!response.write(chunk)) return void response.once('drain', write);
      }
      response.end();
    };
    write();
  });
  const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: upstream.url } });
  /** Reads a number of chunks with pauses, so that the server has to wait; returns the peak memory. */
  const read = async (chunks: number): Promise<number> => {
    let peak = 0;
    let received = 0;
    const response = await server.fetch(`/exec?query=${chunks}&fmt=json`);
    for await (const part of response.body!) {
      received += part.length;
      if (received % (16 * chunk.length) < part.length) {
        peak = Math.max(peak, residentBytes(server.child.pid));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
    expect(received).toBe(chunks * chunk.length);
    return peak;
  };
  const warm = await read(warmMib);
  return ((await read(mib)) - warm) / 1024 ** 2;
}
