// The price of TLS: the same requests to two servers, with and without it, in CPU time of the server process.
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import * as plainHttp from 'node:http';
import * as tlsHttp from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuMs } from '../tools/process-resources.js';
import { startServer } from '../tools/server-process.js';
import { createTestAuthority } from '../tools/test-certificates.js';
import { interleave, ratio, writeResults } from './interleave.js';
import { median } from './measure.js';
import { tradesAsArrow } from './trades-frame.js';

const ROUNDS = 9;
const authority = await createTestAuthority();
const own = await authority.issue(['127.0.0.1']);

/** The request, its number in a round, and new connections or kept ones. */
const CASES = [
  { name: '100 rows as JSON, open connection', path: '/exec?handle=trades&fmt=json&limit=100', count: 3000 },
  {
    name: '100 rows as JSON, new connection each',
    path: '/exec?handle=trades&fmt=json&limit=100',
    count: 300,
    isNew: true,
  },
  { name: '1 000 000 rows as CSV', path: '/exp?handle=trades&fmt=csv', count: 1 },
  { name: '1 000 000 rows as Arrow', path: '/exp?handle=trades&fmt=arrow', count: 8 },
];

async function send(url, options, body) {
  const { request } = url.startsWith('https') ? tlsHttp : plainHttp;
  const sent = request(url, { ca: authority.cert, headers: { 'accept-encoding': 'identity' }, ...options });
  sent.end(body);
  const [response] = await once(sent, 'response');
  let bytes = 0;
  response.on('data', (chunk) => (bytes += chunk.length));
  await once(response, 'end');
  if (response.statusCode >= 300) throw new Error(`${url} answered ${response.statusCode}`);
  return bytes;
}

/** Returns the CPU time of the server for one request, and its time at the client, in milliseconds. */
async function measure({ url, pid }, { path, count, isNew = false }) {
  const { Agent } = url.startsWith('https') ? tlsHttp : plainHttp;
  // Without a cache of sessions, every new connection is a full handshake.
  const agent = new Agent({ keepAlive: !isNew, maxSockets: 1, maxCachedSessions: 0 });
  const startCpuMs = cpuMs(pid);
  const startMs = performance.now();
  let bytes = 0;
  for (let i = 0; i < count; i++) bytes += await send(`${url}${path}`, { agent });
  const ms = (performance.now() - startMs) / count;
  agent.destroy();
  return { cpu: (cpuMs(pid) - startCpuMs) / count, ms, bytes: bytes / count };
}

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const files = { SERVICE_TLS_CERT_FILE: join(folder, 'cert.pem'), SERVICE_TLS_KEY_FILE: join(folder, 'key.pem') };
writeFileSync(files.SERVICE_TLS_CERT_FILE, own.cert);
writeFileSync(files.SERVICE_TLS_KEY_FILE, own.key);
const servers = { plain: await startServer(), tls: await startServer([], { env: files }) };
try {
  const body = tradesAsArrow(1_000_000);
  for (const { url } of Object.values(servers)) {
    await send(`${url}/frames/trades?fmt=arrow`, { method: 'PUT' }, body);
  }
  const summary = [];
  const values = {};
  for (const asked of CASES) {
    const sides = { plain: () => measure(servers.plain, asked), tls: () => measure(servers.tls, asked) };
    const measured = await interleave(sides, { rounds: ROUNDS });
    values[asked.name] = measured;
    const { plain, tls } = measured;
    if (plain[0].bytes !== tls[0].bytes) throw new Error(`${asked.name}: the responses differ in length.`);
    summary.push({
      request: asked.name,
      'CPU ms, plain': median(plain.map(({ cpu }) => cpu)),
      'CPU ms, TLS': median(tls.map(({ cpu }) => cpu)),
      'CPU ratio': ratio(tls, plain, ({ cpu }) => cpu),
      'time ratio': ratio(tls, plain, ({ ms }) => ms),
    });
  }
  console.table(summary);
  writeResults('tls', { rounds: ROUNDS, summary, values });
} finally {
  for (const { stop } of Object.values(servers)) await stop();
  rmSync(folder, { recursive: true });
}
