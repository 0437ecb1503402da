import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { run } from './run.ts';
import { startStandIn } from './stand-in.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-token-'));
  file = join(folder, 'callers.toml');
});
afterEach(() => rm(folder, { recursive: true }));

const CREATE: readonly string[] = ['token', 'create', '--tenant', 'alpha', '--permissions', 'read,write'];

test('a token is printed once and alone, listed without its secret, and revoked', async () => {
  const created = await run([...CREATE, '--expires', '90d', '--note', 'dashboard', '--file', file]);
  expect(created).toMatchObject({ code: 0, stderr: '' });
  expect(created.stdout).toMatch(/^svc_t-[a-z0-9]{6}_[A-Za-z0-9_-]{43}\n$/);
  const [id, secret] = [created.stdout.slice(4, 12), created.stdout.slice(13, 56)];
  const listed = await run(['token', 'list', '--json', '--file', file]);
  expect(JSON.parse(listed.stdout)).toEqual([
    { id, tenant: 'alpha', permissions: ['read', 'write'], expires: expect.any(String), note: 'dashboard' },
  ]);
  const table = await run(['token', 'list', '--file', file]);
  expect(table.stdout).toMatch(/id +\S* *tenant/);
  for (const text of [listed.stdout, table.stdout, await readFile(file, 'utf8')]) expect(text).not.toContain(secret);
  expect(await run(['token', 'revoke', id, '--file', file])).toMatchObject({ code: 0, stdout: '' });
  expect(JSON.parse((await run(['token', 'list', '--json', '--file', file])).stdout)).toEqual([]);
});

test('a list shows never for no expiry, and nothing for no note', async () => {
  await run([...CREATE, '--file', file]);
  const { stdout } = await run(['token', 'list', '--file', file]);
  expect(stdout).toMatch(/\nt-\S+ +alpha +read,write +never *\n$/);
  const [listed] = JSON.parse((await run(['token', 'list', '--json', '--file', file])).stdout);
  expect(listed).toMatchObject({ expires: null, note: null });
});

test('the file is that of the settings', async () => {
  const env = { SERVICE_AUTH_CALLERS_FILE: file };
  expect(await run(CREATE, { env })).toMatchObject({ code: 0 });
  expect(await readFile(file, 'utf8')).toContain('tenant = "alpha"');
});

describe('is refused with a hint:', () => {
  test.each([
    ['no file', CREATE, 'No callers file is named.'],
    ['no tenant', ['token', 'create', '--permissions', 'read'], 'svc token create needs --tenant.'],
    ['no permissions', ['token', 'create', '--tenant', 'a'], 'svc token create needs --permissions.'],
    ['a bad tenant', ['token', 'create', '--tenant', 'A', '--permissions', 'read'], '--tenant "A" is not the name'],
    ['a bad permission', ['token', 'create', '--tenant', 'a', '--permissions', 'root'], '--permissions "root" is not'],
    ['a past expiry', [...CREATE, '--expires', '2001-01-01T00:00:00Z'], 'is not a time in the future.'],
    ['a bad expiry', [...CREATE, '--expires', 'soon'], '--expires "soon" is not a time in the future.'],
    ['another action', ['token', 'make'], 'svc token has no action "make".'],
    ['revoke without an id', ['token', 'revoke'], 'svc token revoke needs an id.'],
    ['list with an id', ['token', 'list', 'x'], 'svc token list takes no id.'],
    ['an unknown id', ['token', 'revoke', 't-000000'], 'There is no such file.'],
  ])('%s', async (what, argv, message) => {
    const named = what === 'no file' ? argv : [...argv, '--file', file];
    const { code, stderr } = await run(named);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).toContain('hint: ');
  });
});

describe('the token of a request', () => {
  test.each([
    ['SVC_TOKEN', { env: { SVC_TOKEN: 'svc_from-variable' } }, [], 'Bearer svc_from-variable'],
    ['--token-file', { env: { SVC_TOKEN: 'svc_from-variable' } }, ['--token-file'], 'Bearer svc_from-file'],
    ['an empty SVC_TOKEN', { env: { SVC_TOKEN: '' } }, [], undefined],
  ])('comes from %s', async (_source, options, flags, authorization) => {
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, 'svc_from-file\n');
    const seen: (string | undefined)[] = [];
    const { url } = await startStandIn(({ headers }, response) => {
      seen.push(headers.authorization);
      response.setHeader('content-type', 'text/plain').end('ok');
    });
    const argv = ['ping', '--url', url, ...flags, ...flags.map(() => tokenFile)];
    expect(await run(argv, options)).toMatchObject({ code: 0 });
    expect(seen).toEqual([authorization]);
  });

  test.each([
    [
      'is missing',
      undefined,
      'cannot be read: there is no such file.\nhint: Check the name and the current directory.\n',
    ],
    ['has two words', 'svc_secret word', 'is not a token'],
    ['is empty', '', 'is not a token'],
    ['is too large', 'x'.repeat(20_000), 'has more than 16384 bytes.'],
  ])('is not taken from a file that %s, and never shown', async (_what, content, message) => {
    const tokenFile = join(folder, 'token');
    if (content !== undefined) await writeFile(tokenFile, content);
    const { code, stderr } = await run(['ping', '--token-file', tokenFile]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('svc_secret');
  });

  test.skipIf(process.platform === 'win32')('is not read from a device without an end', async () => {
    expect(await run(['ping', '--token-file', '/dev/zero'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has more than 16384 bytes.'),
    });
  });
});

test('--tenant selects the frames of a directory, and is refused for a server', { tags: ['slow'] }, async () => {
  const data = join(folder, 'data');
  const rows = join(folder, 'rows.csv');
  await writeFile(rows, 'id\n1\n');
  expect(await run(['put', data, 'trades', rows, '--tenant', 'alpha'])).toMatchObject({ code: 0 });
  const list = async (...flags: string[]) => (await run(['list', data, '--json', ...flags])).stdout;
  expect(JSON.parse(await list('--tenant', 'alpha'))).toMatchObject({ frames: [{ handle: 'trades' }] });
  expect(JSON.parse(await list('--tenant', 'beta'))).toEqual({ frames: [] });
  expect(JSON.parse(await list())).toEqual({ frames: [] });
  const sql = ['query', data, 'select count(*) as n from trades', '--csv'];
  expect((await run([...sql, '--tenant', 'alpha'])).stdout).toBe('n\r\n1\r\n');
  expect((await run(['list', '--tenant', 'alpha'])).stderr).toContain('--tenant is only for a directory.');
  expect((await run(['list', data, '--tenant', 'Ä'])).stderr).toContain('is not the name of a tenant.');
});
