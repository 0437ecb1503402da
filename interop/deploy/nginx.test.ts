// The configuration of deploy/nginx with Debian's nginx between real clients and the real server.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { request, type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { provideDebian } from '../../tools/debian-packages.js';
import { freePorts } from '../../tools/free-ports.js';
import { startServer } from '../../tools/server-process.js';
import { createTestAuthority } from '../../tools/test-certificates.js';

const source = fileURLToPath(new URL('../../deploy/nginx/svc.conf', import.meta.url));
const program = join(provideDebian('nginx'), 'usr/sbin/nginx');
const NAME = 'data.example.com';

let folder: string;
let nginx: ChildProcess | undefined;
let port: number;
let ca: string;
let server: Awaited<ReturnType<typeof startServer>>;

/** The configuration as it is, but for the addresses and the files. */
function writeConfiguration(): string {
  const own = readFileSync(source, 'utf8')
    .replace('listen 443 ssl http2', `listen 127.0.0.1:${port} ssl http2`)
    .replace('127.0.0.1:9000', new URL(server.url).host)
    .replace('127.0.0.1:50052', server.grpc)
    .replaceAll('/etc/nginx/', `${folder}/`)
    .replace('/var/log/nginx/', `${folder}/`);
  writeFileSync(join(folder, 'svc.conf'), own);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const main = `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
    events { worker_connections 256; }
    http { ${paths.join(' ')} include ${folder}/svc.conf; }\n`;
  const path = join(folder, 'nginx.conf');
  writeFileSync(path, main);
  return path;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-nginx-'));
  [port = 0] = await freePorts(1);
  const authority = await createTestAuthority();
  const { cert, key } = await authority.issue([NAME]);
  ca = authority.cert;
  writeFileSync(join(folder, 'svc.pem'), cert);
  writeFileSync(join(folder, 'svc.key'), key);
  mkdirSync(join(folder, 'data'));
  server = await startServer([`--data-dir=${join(folder, 'data')}`], {
    env: { SERVICE_HTTP_ALLOWED_HOSTS: NAME, SERVICE_HTTP_MAX_UPLOAD_BYTES: '1000000000' },
  });
  const path = writeConfiguration();
  const log = ['-e', join(folder, 'error.log')];
  const { stderr } = spawnSync(program, ['-t', '-c', path, ...log], { encoding: 'utf8' });
  expect(stderr).toMatch(
    /^nginx: the configuration file \S+ syntax is ok\nnginx: configuration file \S+ test is successful\n$/,
  );
  nginx = spawn(program, ['-c', path, ...log], { stdio: 'inherit' });
  await vi.waitFor(async () => expect((await send('/ping')).status).toBe(200), { timeout: 30_000, interval: 100 });
});

afterAll(async () => {
  nginx?.kill('SIGTERM');
  if (nginx) await once(nginx, 'exit');
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readable;
}

/** Sends a request through nginx. */
async function send(path: string, options: RequestOptions = {}, body?: Readable): Promise<Answer> {
  const outgoing = request({
    host: '127.0.0.1',
    port,
    servername: NAME,
    ca,
    path,
    ...options,
    headers: { host: NAME, ...options.headers },
  });
  if (body) body.pipe(outgoing);
  else outgoing.end();
  const [incoming] = (await once(outgoing, 'response')) as [
    Readable & { statusCode: number; headers: Answer['headers'] },
  ];
  return { status: incoming.statusCode, headers: incoming.headers, body: incoming };
}

async function textOf({ body }: Answer): Promise<string> {
  return Buffer.concat(await body.toArray()).toString();
}

/** The files that nginx has written to buffer a body. */
const bufferFiles = (): string[] => ['client_body', 'proxy'].flatMap((name) => readdirSync(join(folder, name)));

describe('through nginx', () => {
  const ROWS = 2_000_000;

  test('a long upload of unknown length is not buffered', async () => {
    let isHalf = false;
    async function* csv(): AsyncGenerator<Buffer> {
      yield Buffer.from('id,text\n');
      for (let at = 0; at < ROWS; at += 1000) {
        yield Buffer.from(
          Array.from({ length: 1000 }, (_, row) => `${at + row},some text of row ${at + row}\n`).join(''),
        );
        if (at !== ROWS / 2) continue;
        // Half of it is sent: the server has received some, and nginx has no file.
        await expect.poll(() => uploadedBytes()).toBeGreaterThan(1_000_000);
        expect(bufferFiles()).toEqual([]);
        isHalf = true;
      }
    }
    const answer = await send('/frames/long?fmt=csv', { method: 'PUT' }, Readable.from(csv()));
    expect({ status: answer.status, isHalf, rows: JSON.parse(await textOf(answer)).rows }).toEqual({
      status: 201,
      isHalf: true,
      rows: ROWS,
    });
  });

  /** The bytes of unfinished files of the server. */
  function uploadedBytes(): number {
    const out = spawnSync('sh', ['-c', `cat /proc/${server.pid}/io`], { encoding: 'utf8' }).stdout;
    return Number(/^wchar: (\d+)$/m.exec(out)?.[1] ?? 0);
  }

  test('a long response arrives while it is made, and is not buffered', async () => {
    const answer = await send('/exp?handle=long&fmt=csv');
    const [first] = (await once(answer.body, 'data')) as [Buffer];
    answer.body.pause();
    expect(first.toString()).toMatch(/^id,text\r\n0,some text of row 0\r\n/);
    expect(bufferFiles()).toEqual([]);
    answer.body.resume();
    let bytes = first.length;
    for await (const chunk of answer.body) bytes += (chunk as Buffer).length;
    expect(bytes).toBeGreaterThan(40_000_000);
    expect(bufferFiles()).toEqual([]);
  });

  test('the id of a request is that of the client or a new one, in the response, and in the log of nginx', async () => {
    const given = await send('/frames/no-such', { headers: { 'x-request-id': 'from-the-client' } });
    expect(given.headers['x-request-id']).toBe('from-the-client');
    const made = (await send('/frames/no-such')).headers['x-request-id'];
    expect(made).toMatch(/^[0-9a-f]{32}$/);
    const log = () => readFileSync(join(folder, 'svc.log'), 'utf8');
    await expect
      .poll(log)
      .toMatch(new RegExp(`"GET /frames/no-such" 404 \\d+ [\\d.]+ from-the-client\\n[^]* ${String(made)}\\n`));
  });

  test('SQL in a request line of 30 000 bytes is run', async () => {
    const sql = `select 1 as one /* ${'x'.repeat(29_800)} */`;
    const answer = await send(`/exec?fmt=json&engine=local&query=${sql.replaceAll(' ', '+')}`);
    expect({ status: answer.status, body: JSON.parse(await textOf(answer)) }).toMatchObject({
      status: 200,
      body: { dataset: [[1]] },
    });
  });

  test('a web page of another origin is still refused, and one of the public name is not', async () => {
    const post = (site: string) =>
      send('/frames/page?fmt=csv', { method: 'POST', headers: { 'sec-fetch-site': site } }, Readable.from(['a\n1\n']));
    expect((await post('cross-site')).status).toBe(403);
    expect((await post('same-origin')).status).toBe(201);
  });

  test('errors of the server keep their status, body and headers', async () => {
    const answer = await send('/exec?fmt=json&handle=no-such');
    expect({ status: answer.status, body: JSON.parse(await textOf(answer)) }).toMatchObject({
      status: 404,
      body: { code: 'handle_not_found' },
    });
  });

  test('gRPC reaches the server, with its status', async () => {
    const session = connectHttp2(`https://127.0.0.1:${port}`, { ca, servername: NAME });
    try {
      const call = session.request({
        ':method': 'POST',
        ':path': '/grpc.health.v1.Health/Check',
        ':authority': NAME,
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      // An empty message: five bytes of framing.
      call.end(Buffer.alloc(5));
      const chunks: Buffer[] = [];
      call.on('data', (chunk: Buffer) => chunks.push(chunk));
      const trailers = once(call, 'trailers');
      await once(call, 'end');
      const [status] = (await trailers) as [Record<string, string>];
      expect(status['grpc-status']).toBe('0');
      // The field status (1) is SERVING (1).
      expect(Buffer.concat(chunks).subarray(5).toString('hex')).toBe('0801');
    } finally {
      session.close();
    }
  });
});
