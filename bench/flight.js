// Arrow Flight, side by side with a server of pyarrow (C++): the same frame of 320 MB, put and read by the same client.
// The other side keeps frames in memory, and writes each upload to Parquet and syncs it before it acknowledges it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { providePython } from '../tools/python-environment.js';
import { startServer } from '../tools/server-process.js';
import { median } from './measure.js';
import { writeResults } from './take-turns.js';

const ROWS = 5_000_000;

const file = (name) => fileURLToPath(new URL(name, import.meta.url));
const python = join(providePython('interop-python', file('../interop/python/requirements.txt')), 'python');

async function startPeer(directory) {
  const child = spawn(python, [file('peers/flight_server.py'), directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const address of createInterface({ input: child.stdout })) {
    return { grpc: address, pid: child.pid, stop: () => child.kill() };
  }
  throw new Error('The server of pyarrow ended before it was ready.');
}

async function runClient(sides) {
  const servers = Object.entries(sides).map(([name, { grpc, pid }]) => [name, grpc, pid].join(','));
  const client = spawn(python, [file('flight_client.py'), String(ROWS), ...servers], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [text, [status]] = await Promise.all([client.stdout.toArray(), once(client, 'exit')]);
  if (status !== 0) throw new Error('The client failed.');
  return JSON.parse(Buffer.concat(text).toString());
}

const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const svc = await startServer(['--data-dir', join(directory, 'data'), '--cache-size', '2']);
const pyarrow = await startPeer(directory);
try {
  const { bytes, ...values } = await runClient({ svc, pyarrow });
  const summary = Object.entries(values).flatMap(([call, sides]) =>
    ['seconds', 'serverCpuSeconds'].map((key) => {
      const of = (value) => value[key];
      return {
        call: call === 'gets' ? 'DoGet' : 'DoPut',
        measured: key,
        svc: Number(median(sides.svc.map(of)).toFixed(3)),
        pyarrow: Number(median(sides.pyarrow.map(of)).toFixed(3)),
        ratio: Number((median(sides.svc.map(of)) / median(sides.pyarrow.map(of))).toFixed(2)),
      };
    }),
  );
  console.table(summary);
  writeResults('flight', { rows: ROWS, bytes, summary, values });
} finally {
  pyarrow.stop();
  await svc.stop();
  rmSync(directory, { recursive: true, force: true });
}
