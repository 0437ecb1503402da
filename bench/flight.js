// Arrow Flight, side by side with a server of pyarrow (C++): the same frame of 320 MB, put and read by the same client.
// The other side keeps frames in memory, and writes each upload to Parquet and syncs it before it acknowledges it.
// Also one row of SQL, over Flight SQL and over HTTP. `node bench/flight.js <part>` runs one part and saves no results.
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
import { writeResults } from './interleave.js';

const ROWS = 10_000_000;

const file = (name) => fileURLToPath(new URL(name, import.meta.url));
const python = join(providePython('interop-python', file('../interop/python/requirements.txt')), 'python');

async function startPeer(directory) {
  const child = spawn(python, [file('peers/flight_server.py'), directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const address of createInterface({ input: child.stdout })) {
    return { grpc: address, pid: child.pid, stop: () => child.kill() };
  }
  throw new Error('The server of pyarrow ended before it was ready.');
}

async function runClient(program, args) {
  const client = spawn(python, [file(program), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [text, [status]] = await Promise.all([client.stdout.toArray(), once(client, 'exit')]);
  if (status !== 0) throw new Error('The client failed.');
  return JSON.parse(Buffer.concat(text).toString());
}

/** A frame of 320 MB, put and read. */
async function measureFrames(svc, directory) {
  const pyarrow = await startPeer(directory);
  try {
    const servers = Object.entries({ svc, pyarrow }).map(([name, { grpc, pid }]) => [name, grpc, pid].join(','));
    return await runClient('flight_client.py', [String(ROWS), ...servers]);
  } finally {
    pyarrow.stop();
  }
}

const CALLS = { puts: 'DoPut', gets: 'DoGet' };

function summedFrames(values) {
  return Object.entries(CALLS).flatMap(([kind, call]) =>
    ['seconds', 'serverCpuSeconds'].map((key) => {
      const of = (value) => value[key];
      return {
        call,
        measured: key,
        ...compared('svc', values[kind].svc.map(of), 'pyarrow', values[kind].pyarrow.map(of)),
      };
    }),
  );
}

function compared(name, own, otherName, other) {
  const [mine, others] = [median(own), median(other)];
  return {
    [name]: Number(mine.toFixed(3)),
    [otherName]: Number(others.toFixed(3)),
    ratio: Number((mine / others).toFixed(2)),
  };
}

/** One row of SQL. */
const measureQueries = (svc) => runClient('flight_query.py', [new URL(svc.url).host, svc.grpc]);

function summedQueries({ flight, http }) {
  return { call: 'SQL of one row', measured: 'ms', ...compared('svc', flight, 'HTTP', http) };
}

const [part] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const svc = await startServer(['--data-dir', join(directory, 'data'), '--cache-size', '2']);
try {
  const queries = part === 'frames' ? undefined : await measureQueries(svc);
  const frames = part === 'queries' ? undefined : await measureFrames(svc, directory);
  const summary = [...(frames ? summedFrames(frames) : []), ...(queries ? [summedQueries(queries)] : [])];
  console.table(summary);
  if (part === undefined) {
    const { bytes, ...values } = frames;
    writeResults('flight', { rows: ROWS, bytes, summary, values: { ...values, queries } });
  }
} finally {
  await svc.stop();
  rmSync(directory, { recursive: true, force: true });
}
