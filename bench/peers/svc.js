// This server, with a frame that was put as a Parquet file.
import { readFileSync } from 'node:fs';
import { startServer } from '../../tools/server-process.js';

export const svc = {
  name: 'svc',
  async start({ name, files }, args = []) {
    const server = await startServer(args);
    const headers = { 'content-type': 'application/vnd.apache.parquet' };
    const body = readFileSync(files.parquet);
    const response = await fetch(`${server.url}/frames/${name}`, { method: 'PUT', body, headers });
    if (!response.ok) throw new Error(`PUT answered ${response.status}: ${await response.text()}`);
    return {
      ...server,
      json: (offset, rows) => ({ path: `/exec?handle=${name}&fmt=json&limit=${offset + 1},${offset + rows}` }),
      all: (format) =>
        format === 'json'
          ? { path: `/exec?handle=${name}&fmt=json&limit=1,` }
          : { path: `/exp?handle=${name}&fmt=${format}` },
      sql: (sql) => ({ path: `/exec?engine=local&fmt=json&query=${encodeURIComponent(sql)}` }),
      rowsOf: (text) => JSON.parse(text).dataset,
    };
  },
};
