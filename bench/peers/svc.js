// This server, with a frame that was put as a Parquet file.
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

/** The same without the cache of short responses and of their rows, so that each is encoded. */
export const svcWithoutCache = {
  name: 'svc, no response cache',
  start: (set) => svc.start(set, [], { SERVICE_HTTP_ANSWER_CACHE_BYTES: '0' }),
};
