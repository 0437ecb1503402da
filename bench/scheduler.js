// SQL on Spark through this server, against pyspark's own client on the same Spark (standalone, two workers with one core
// each): a group-by of two million rows, and all of them as Arrow (80 MB). Also a join of 10^8 rows on this server alone and
// on the two workers.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startSpark } from '../interop/scheduler/start-spark.js';
import { providePython } from '../tools/python-environment.js';
import { startServer } from '../tools/server-process.js';
import { ratio, writeResults } from './interleave.js';
import { median } from './measure.js';

const file = (name) => fileURLToPath(new URL(name, import.meta.url));
const programs = providePython('bench-pyspark', file('peers/pyspark-requirements.txt'));

async function runClient(args) {
  const client = spawn(join(programs, 'python'), [file('scheduler_client.py'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [text, [status]] = await Promise.all([client.stdout.toArray(), once(client, 'exit')]);
  if (status !== 0) throw new Error('The client failed.');
  return JSON.parse(Buffer.concat(text).toString());
}

function compared(what, own, peer, [ownName, peerName]) {
  const ms = (values) => Math.round(1000 * median(values));
  return {
    what,
    side: ownName,
    ms: ms(own),
    peer: peerName,
    'peer, ms': ms(peer),
    ratio: Number(ratio(own, peer).toFixed(2)),
  };
}

// Not with the prefix of the server's own temporary directories.
const directory = mkdtempSync(join(tmpdir(), 'bench-cluster-'));
const spark = await startSpark(programs);
try {
  const svc = await startServer(['--data-dir', directory], {
    env: { SERVICE_SCHEDULER_URL: `sc://127.0.0.1:${spark.port}` },
  });
  try {
    const values = await runClient([svc.url, String(spark.port), join(directory, 'cold')]);
    const sides = ['svc', 'pyspark'];
    const summary = [
      compared('group-by of 2 M rows', values['group-by'].svc, values['group-by'].pyspark, sides),
      compared('2 M rows × 5 as Arrow', values['all rows'].svc, values['all rows'].pyspark, sides),
      compared('join of 10^8 rows', values.join['two workers'], values.join.local, ['svc, two workers', 'svc, local']),
    ];
    console.table(summary);
    writeResults('scheduler', { summary, values });
  } finally {
    await svc.stop();
  }
} finally {
  await spark.stop();
  rmSync(directory, { recursive: true, force: true });
}
