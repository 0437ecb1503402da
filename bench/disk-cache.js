// Frames larger than the cache, decoded on disk or not.

/** The environment of a server with decodes of the Parquet file for every read from disk. */
export const DECODE_ALWAYS = { SERVICE_STORAGE_DISK_CACHE_BYTES: '0' };

const MAX_READS = 100;

/** Reads a frame larger than the cache until its rows come from the decoded ones on disk. */
export async function untilDecoded({ url }, read) {
  for (let count = 0; count < MAX_READS; count++) {
    await read();
    const metrics = await (await fetch(`${url}/metrics`)).text();
    if (Number(/^svc_cache_reads_total\{cache="disk",result="hit"\} (\d+)/m.exec(metrics)?.[1]) > 0) return;
  }
  throw new Error(`The frame is not decoded on disk after ${MAX_READS} reads: is the temporary directory in memory?`);
}
