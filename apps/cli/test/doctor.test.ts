import { chmod, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkNode } from '../src/doctor/local-checks.ts';
import { packageVersion } from '../src/run-cli.ts';
import { type Ran, run, startBinary } from './run.ts';
import { sendJson, startRawStandIn, startStandIn, unusedUrl } from './stand-in.ts';

const FREE = { SERVICE_HTTP_BIND_ADDRESS: '127.0.0.1:0', SERVICE_GRPC_HOST: '127.0.0.1', SERVICE_GRPC_PORT: '0' };
const HEALTH = { status: 'ok', version: packageVersion(), uptimeSeconds: 7.4, parts: {} };

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'doctor-test-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** Runs the doctor on a sound machine, except for `env`. */
async function doctor(env: Readonly<Record<string, string>>, argv: readonly string[] = []): Promise<Ran> {
  const { url } = await startStandIn((_, response) => sendJson(response, HEALTH));
  return run(['doctor', ...argv], { env: { SVC_URL: url, ...FREE, ...env } });
}

test('all is well: a line for each check, and 0', async () => {
  const { code, stdout, stderr } = await doctor({});
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.split('\n')).toEqual([
    `ok       Node is ${process.versions.node}.`,
    'ok       The configuration loads; there is no configuration file.',
    'ok       The HTTP address 127.0.0.1:0 takes any free port.',
    'ok       The gRPC address 127.0.0.1:0 takes any free port.',
    'ok       No data directory is set: frames are lost when the server stops.',
    'ok       No time-series database is set: SQL needs engine=local, which queries the frames.',
    expect.stringMatching(/^ok {7}The server http:\S+ answers: ok, version \d+\.\d+\.\d+\.$/),
    '',
  ]);
});

test.each([
  ['18.20.1', 'problem'],
  ['20.18.9', 'problem'],
  ['20.19.0', 'ok'],
  ['22.0.0', 'ok'],
])('Node %s is %s', (version, status) => {
  expect(checkNode(version)).toMatchObject({ status });
});

describe('the callers file', () => {
  const row = (more = '') =>
    `[[token]]\nid = "t-abcdef"\nhash = "sha256:${'0'.repeat(64)}"\ntenant = "a"\npermissions = ["read"]\n${more}`;

  test.each([
    ['is fine', row(), 0o600, 0, 'ok       The callers file has 1 token.'],
    ['does not parse', '[[token', 0o600, 1, 'It is not TOML'],
    ['is writable by others', row(), 0o666, 4, 'Other users can change the callers file'],
    ['has an expired token', row('expires = 2020-01-01T00:00:00Z'), 0o600, 4, 'have expired: t-abcdef (2020-01-01).'],
  ])('%s', async (_what, text, mode, code, line) => {
    const path = join(folder, 'callers.toml');
    await writeFile(path, text);
    await chmod(path, mode);
    const ran = await doctor({ SERVICE_AUTH_CALLERS_FILE: path });
    expect(ran.stdout).toContain(line);
    expect(ran.code).toBe(code);
  });

  test('a server that needs a token answers', async () => {
    const { url } = await startStandIn((_, response) => sendJson(response, { status: 'ok' }));
    const { code, stdout } = await run(['doctor'], { env: { SVC_URL: url, ...FREE } });
    expect(stdout).toContain(`The server ${url} answers: ok. It needs a token for everything else.`);
    expect(code).toBe(0);
  });
});

describe('the configuration', () => {
  test('problems are lines with advice, and 1', async () => {
    const { code, stdout } = await doctor({ SERVICE_GRPC_PORT: 'x', SERVICE_LOG_LEVEL: 'loud' });
    expect(code).toBe(1);
    expect(stdout).toMatch(/\nproblem {2}server\.grpc_port is "x", .* For example: SERVICE_GRPC_PORT=50052\n/);
    expect(stdout).toMatch(/\nproblem {2}logging\.level is "loud", /);
  });

  test('warnings are lines, and 4', async () => {
    const { code, stdout } = await doctor({ SERVICE_GRPC_PROT: '1' });
    expect(code).toBe(4);
    expect(stdout).toMatch(/\nwarning {2}.*SERVICE_GRPC_PROT.* Did you mean SERVICE_GRPC_PORT\?\n/);
  });

  test('the file of --config is the one that is read', async () => {
    const file = join(folder, 'a.toml');
    await writeFile(file, '[logging]\nlevel = "info"');
    expect((await doctor({}, ['--config', file])).stdout).toContain(`The configuration loads; from "${file}".\n`);
  });
});

describe('a port', () => {
  test('that is free is ok', async () => {
    const { host } = new URL(await unusedUrl());
    const { code, stdout } = await doctor({ SERVICE_HTTP_BIND_ADDRESS: host });
    expect(code).toBe(0);
    expect(stdout).toContain(`ok       The HTTP address ${host} is free.\n`);
  });

  test('that a data-frame server holds is ok, with its version', async () => {
    const { url } = await startStandIn((_, response) => sendJson(response, HEALTH));
    const { host, port } = new URL(url);
    const held = `is held by a running data-frame server, version ${packageVersion()}, up for 7 s.\n`;
    expect((await doctor({ SERVICE_HTTP_BIND_ADDRESS: host })).stdout).toContain(
      `ok       The HTTP address ${host} ${held}`,
    );
    expect((await doctor({ SERVICE_HTTP_BIND_ADDRESS: `:${port}` })).stdout).toContain(
      `ok       The HTTP address 0.0.0.0:${port} ${held}`,
    );
  });

  test.each([
    ['a web server', (): Promise<string> => startStandIn((_, response) => response.end('hi')).then(({ url }) => url)],
    ['something else', () => startRawStandIn('SSH-2.0-OpenSSH_9.2\r\n')],
  ])('that %s holds is a problem, for either listener', async (_name, start) => {
    const { host, port } = new URL(await start());
    const { code, stdout } = await doctor({ SERVICE_HTTP_BIND_ADDRESS: host });
    expect(code).toBe(1);
    expect(stdout).toContain(
      `problem  The HTTP address ${host} is held by another program. ` +
        'Stop that program, or choose another port with SERVICE_HTTP_BIND_ADDRESS.\n',
    );
    expect((await doctor({ SERVICE_GRPC_PORT: port })).stdout).toContain(
      `problem  The gRPC address ${host} is held by another program. `,
    );
  });

  test('that does not respond is a problem within seconds', { tags: ['slow'] }, async () => {
    const server = createServer((socket) => socket.on('error', () => {}).resume());
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      const { stdout } = await doctor({ SERVICE_GRPC_PORT: String(port) });
      expect(stdout).toContain(`problem  The gRPC address 127.0.0.1:${port} is held by another program.`);
    } finally {
      server.close();
    }
  });

  test('at an address that this machine does not have is a problem', async () => {
    expect((await doctor({ SERVICE_HTTP_BIND_ADDRESS: '192.0.2.1:9000' })).stdout).toContain(
      'problem  The HTTP address 192.0.2.1:9000 cannot be used: this machine does not have the address. ' +
        'Choose one of its own addresses with SERVICE_HTTP_BIND_ADDRESS.\n',
    );
    expect((await doctor({ SERVICE_GRPC_HOST: '192.0.2.1', SERVICE_GRPC_PORT: '9' })).stdout).toContain(
      'Choose one of its own addresses with SERVICE_GRPC_HOST.\n',
    );
  });
});

describe('a data directory', () => {
  const line = (stdout: string, setting: string): string | undefined =>
    stdout.split('\n').find((text) => text.includes(`  ${setting}, "`));

  test('that exists or can be created is ok', async () => {
    const { stdout } = await doctor({ SERVICE_DATA_DIR: folder });
    expect(line(stdout, 'storage.data_dir')).toBe(`ok       storage.data_dir, "${folder}", can be read and written.`);
    expect(line(stdout, 'storage.parquet_path')).toMatch(/^ok .*cold", does not exist yet and can be created\.$/);
    expect(line(stdout, 'storage.duckdb_path')).toMatch(
      /^ok .*analytics\.duckdb", does not exist yet and can be created\.$/,
    );
  });

  test('that is a file, and a file that is a directory, are problems', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    const { code, stdout } = await doctor({ SERVICE_PARQUET_PATH: file, SERVICE_DUCKDB_PATH: folder });
    expect(code).toBe(1);
    expect(line(stdout, 'storage.parquet_path')).toMatch(/^problem .* is not a directory\. Move it away, or set/);
    expect(line(stdout, 'storage.duckdb_path')).toMatch(/^problem .* is not a file\. Move it away, or set/);
    expect(line((await doctor({ SERVICE_DATA_DIR: join(file, 'x') })).stdout, 'storage.data_dir')).toMatch(/^problem /);
  });

  test.skipIf(process.getuid?.() === 0)('without the permissions is a problem', async () => {
    const locked = join(folder, 'locked');
    await mkdir(locked);
    await chmod(locked, 0o500);
    const { stdout } = await doctor({ SERVICE_DATA_DIR: locked });
    expect(line(stdout, 'storage.data_dir')).toMatch(/^problem .* cannot be read and written by this user\. /);
    expect(line(stdout, 'storage.parquet_path')).toMatch(/^problem .* is not there, and this user cannot make it\. /);
  });
});

describe('the time-series database', () => {
  test('that answers is ok, with the credentials of the settings', async () => {
    const seen: unknown[] = [];
    const { url } = await startStandIn((request, response) => {
      seen.push(request.url, request.headers.authorization);
      sendJson(response, { columns: [], dataset: [], count: 0 });
    });
    const { code, stdout } = await doctor({ SERVICE_TSDB_HTTP_URL: url, SERVICE_TSDB_TOKEN: 'hunter2' });
    expect(code).toBe(0);
    expect(stdout).toContain(`ok       The time-series database ${url} answers.\n`);
    expect(stdout).not.toContain('hunter2');
    expect(seen).toEqual([expect.stringMatching(/^\/exec\?query=select(\+|%20)1&fmt=json$/), 'Bearer hunter2']);
  });

  test.each([
    ['a page', '<html>', 'text/html'],
    ['another object', '{"status":"ok"}', 'application/json'],
    ['nothing', '', 'application/json'],
    ['no end of it', `{"columns":[],"dataset":[${'1,'.repeat(100_000)}1]}`, 'application/json'],
  ])('that answers with %s is a problem', async (_name, body, type) => {
    const { url } = await startStandIn((_, response) => response.writeHead(200, { 'content-type': type }).end(body));
    const { code, stdout } = await doctor({ SERVICE_TSDB_HTTP_URL: url });
    expect(code).toBe(1);
    expect(stdout).toContain(
      `problem  The time-series database ${url} does not answer select 1 with a table. Check that `,
    );
  });

  test.each([
    ['refuses the credentials', 401, 1, 'problem'],
    ['knows no such path', 404, 4, 'warning'],
  ])('that %s is reported', async (_name, status, code, word) => {
    const { url } = await startStandIn((_, response) => response.writeHead(status).end());
    const ran = await doctor({ SERVICE_TSDB_HTTP_URL: url });
    expect(ran.code).toBe(code);
    expect(ran.stdout).toMatch(new RegExp(`\n${word} +The time-series database ${url} .* Check that `));
  });

  test('that is missing is a problem', async () => {
    const url = await unusedUrl();
    const { code, stdout } = await doctor({ SERVICE_TSDB_HTTP_URL: url });
    expect(code).toBe(1);
    expect(stdout).toMatch(
      new RegExp(`\nproblem {2}The time-series database ${url} does not answer: .*\\. Check that `),
    );
  });
});

describe('the server', () => {
  test('that was named and is unreachable is a problem', async () => {
    const url = await unusedUrl();
    const { code, stdout } = await doctor({}, ['--url', url]);
    expect(code).toBe(1);
    expect(stdout).toContain(
      `problem  The server ${url} cannot be reached: nothing listens there. Start one with svc serve`,
    );
  });

  test('of another version is a warning', async () => {
    const { url } = await startStandIn((_, response) => sendJson(response, { ...HEALTH, version: '99.0.0' }));
    const { code, stdout } = await doctor({}, ['--url', url]);
    expect(code).toBe(4);
    expect(stdout).toMatch(/\nwarning {2}The server .* version 99\.0\.0\. This svc has version \d/);
  });

  test('that is something else is a problem', async () => {
    const { url } = await startStandIn((_, response) => sendJson(response, { status: 'UP' }));
    expect((await doctor({}, ['--url', url])).stdout).toContain(
      'problem  Cannot read the response: it is not the health of a data-frame server. ' +
        'Check that --url or SVC_URL names a data-frame server, and its base path if it has one.\n',
    );
  });
});

describe('the frames of a directory', () => {
  const frames = (): string => join(folder, 'data', 'cold', 'default');
  const put = (handle: string): Promise<Ran> =>
    run(['put', join(folder, 'data'), handle, '-', '--fmt', 'json'], { stdin: '[{"id":1,"s":"a"},{"id":2,"s":"b"}]' });
  const verify = (): Promise<Ran> => run(['doctor', join(folder, 'data')]);

  async function pathOf(handle: string): Promise<string> {
    const name = (await readdir(join(frames(), handle))).find((one) => one.endsWith('.parquet'));
    return join(frames(), handle, name ?? '');
  }

  test('that match their checksums are counted, and 0', { tags: ['slow'] }, async () => {
    await put('a');
    await put('b');
    expect(await verify()).toEqual({
      code: 0,
      stdout: `ok       2 frames match their checksums in ${JSON.stringify(join(folder, 'data'))}.\n`,
      stderr: '',
    });
  });

  test('that are damaged are named with their files, and 1', { tags: ['slow'] }, async () => {
    await put('a');
    await put('b');
    const path = await pathOf('b');
    const bytes = await readFile(path);
    bytes[20] = (bytes[20] ?? 0) ^ 4;
    await writeFile(path, bytes);
    const { code, stdout } = await verify();
    expect(code).toBe(1);
    expect(stdout).toBe(
      `ok       1 frame matches its checksums in ${JSON.stringify(join(folder, 'data'))}.\n` +
        `problem  The frame "b" is damaged: ${JSON.stringify(path)} does not match its checksum. Restore the file from a backup, or put the frame again.\n`,
    );
    expect(await readFile(path)).toEqual(bytes);
  });

  test('that are missing are named with the reason, and 1', { tags: ['slow'] }, async () => {
    await put('a');
    const path = await pathOf('a');
    await rm(path);
    const { code, stdout } = await verify();
    expect(code).toBe(1);
    expect(stdout).toMatch(/^problem {2}The frame "a" could not be read: ENOENT: [^.]*, stat '.*\.parquet'\. Check /);
  });

  test('that were written without checksums are counted, and 4', { tags: ['slow'] }, async () => {
    await put('a');
    await put('old');
    const path = await pathOf('old');
    const bytes = await readFile(path);
    // Without these two marks it is a file as written by earlier versions.
    for (const mark of ['SVC-CRC1', 'svc:checks']) bytes.write('x', bytes.lastIndexOf(mark));
    await writeFile(path, bytes);
    const { code, stdout } = await verify();
    expect(code).toBe(4);
    expect(stdout).toContain(
      '\nwarning  1 frame has no checksum: an earlier version wrote it. A frame gets checksums when it is put or appended to.\n',
    );
  });

  test('are verified with what a killed doctor has left removed', { tags: ['slow'] }, async () => {
    await put('a');
    const temporary = join(folder, 'tmp');
    const left = join(temporary, `svc-doctor-${'0123456789ab'.repeat(2)}`);
    await mkdir(left, { recursive: true });
    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(left, longAgo, longAgo);
    const { ran } = startBinary(['doctor', join(folder, 'data')], { TMPDIR: temporary });
    expect(await ran).toMatchObject({ code: 0 });
    expect(await readdir(temporary)).toEqual([]);
  });

  test('are none in an empty directory, and a missing directory is an error', { tags: ['slow'] }, async () => {
    await mkdir(join(folder, 'data'));
    expect((await verify()).stdout).toMatch(/^ok {7}There are no frames in /);
    expect(await run(['doctor', join(folder, 'no')])).toMatchObject({
      stderr: expect.stringContaining('there is no such directory'),
    });
  });
});
