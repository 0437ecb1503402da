// Arrow Flight, side by side with a server of pyarrow (C++): the same frame of 320 MB, put and read by the same client.
// The other side keeps frames in memory, and writes each upload to Parquet and syncs it before it acknowledges it.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { providePython } from '../tools/python-environment.js';
import { median } from './measure.js';
import { startServer } from './server-process.js';
import { ratio, takeTurns, writeResults } from './take-turns.js';

const ROWS = 5_000_000;
const ROUNDS = 3;
const READS = 10;
const PUTS = 1;

const file = (name) => fileURLToPath(new URL(name, import.meta.url));
const python = join(providePython('interop-python', file('../interop/python/requirements.txt')), 'python');

async function startPeer(directory) {
  const child = spawn(python, [file('peers/flight_server.py'), directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const address of createInterface({ input: child.stdout })) {
    return { grpc: address, pid: child.pid, stop: () => child.kill() };
  }
  throw new Error('The server of pyarrow ended before it was ready.');
}

/** A fresh server, the client's whole run against it, and its end. */
async function runSide(start) {
  const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const server = await start(directory);
  try {
    const args = [file('flight_client.py'), server.grpc, server.pid, ROWS, READS, PUTS].map(String);
    const { status, stdout, stderr } = spawnSync(python, args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`The client failed: ${stderr}`);
    return JSON.parse(stdout);
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

const sides = {
  svc: () => runSide((directory) => startServer(['--data-dir', directory, '--cache-size', '2'])),
  pyarrow: () => runSide(startPeer),
};
const values = await takeTurns(sides, { rounds: ROUNDS, warmUp: 0 });
const of = (call, key) => (run) => median(run[call].map((value) => value[key]));
const summary = ['gets', 'puts'].flatMap((call) =>
  ['seconds', 'serverCpuSeconds'].map((key) => ({
    call: call === 'gets' ? 'DoGet' : 'DoPut',
    measured: key,
    svc: Number(median(values.svc.map(of(call, key))).toFixed(3)),
    pyarrow: Number(median(values.pyarrow.map(of(call, key))).toFixed(3)),
    ratio: Number(ratio(values.svc, values.pyarrow, of(call, key)).toFixed(2)),
  })),
);
console.table(summary);
writeResults('flight', { rows: ROWS, bytes: values.svc[0].bytes, summary, values });
