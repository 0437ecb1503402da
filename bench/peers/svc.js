// This server, with a frame from a Parquet file.
import { readFileSync } from 'node:fs';
import { startServer } from '../../tools/server-process.js';
import { putFrame } from '../put-frame.js';

export const svc = {
  name: 'svc',
  async start({ name, files }, args = [], env = {}) {
    const server = await startServer(args, { env });
    await putFrame(`${server.url}/frames/${name}`, 'parquet', readFileSync(files.parquet));
    return {
      ...server,
      window: (offset, rows) => ({ path: `/exec?handle=${name}&fmt=json&limit=${offset + 1},${offset + rows}` }),
      all: (format) =>
        format === 'json'
          ? { path: `/exec?handle=${name}&fmt=json&limit=1,` }
          : { path: `/exp?handle=${name}&fmt=${format}` },
      sql: (sql) => ({ path: `/exec?engine=local&fmt=json&query=${encodeURIComponent(sql)}` }),
      rowsOf: (bytes) => JSON.parse(bytes).dataset,
    };
  },
};

/** The same without the cache of short responses and of their rows: a response with timings is always encoded. */
export const svcWithoutCache = {
  name: 'svc, no response cache',
  async start(set) {
    const server = await svc.start(set);
    return {
      ...server,
      window: (offset, rows) => ({ path: `${server.window(offset, rows).path}&timings=true` }),
    };
  },
};
