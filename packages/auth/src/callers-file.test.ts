import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openAuthenticator } from './authenticator.ts';
import { addToken, hashSecret, loadCallers, parseCallers, removeToken } from './callers-file.ts';

const HASH = hashSecret('a'.repeat(43));

function tokenRow(changes: Readonly<Record<string, string | undefined>> = {}): string {
  const row = { id: '"t-abcdef"', hash: `"${HASH}"`, tenant: '"alpha"', permissions: '["read"]', ...changes };
  const lines = Object.entries(row).flatMap(([key, value]) => (value === undefined ? [] : [`${key} = ${value}`]));
  return ['[[token]]', ...lines, ''].join('\n');
}

test('a callers file has tokens with tenant, permissions, expiry and note', () => {
  const text = tokenRow({ permissions: '["read", "write"]', expires: '2027-01-01T00:00:00Z', note: '"dashboard"' });
  const { tokens } = parseCallers(text + tokenRow({ id: '"t-ghijkl"' }));
  expect([...tokens.keys()]).toEqual(['t-abcdef', 't-ghijkl']);
  expect(tokens.get('t-abcdef')).toEqual({
    id: 't-abcdef',
    tenant: 'alpha',
    permissions: new Set(['read', 'write']),
    hash: Buffer.from(HASH.slice(7), 'hex'),
    expires: new Date('2027-01-01T00:00:00Z'),
    note: 'dashboard',
  });
});

test('a callers file has the limits of tenants, all optional', () => {
  const sizes = 'max_bytes = 1_000_000_000\nmax_frames = 0\nmax_result_bytes = 3\n';
  const all = `${sizes}max_queries = 2\nmax_result_ms = 4\nrequests_per_second = 0.5`;
  const { limits } = parseCallers(`[[tenant]]\nname = "alpha"\n${all}\n[[tenant]]\nname = "beta"\n`);
  expect(limits.get('alpha')).toEqual({
    maxBytes: 1_000_000_000,
    maxFrames: 0,
    maxQueries: 2,
    maxResultMs: 4,
    maxResultBytes: 3,
    requestsPerSecond: 0.5,
  });
  expect(limits.get('beta')).toEqual({});
  expect(limits.get('gamma')).toBeUndefined();
});

test('an empty file is valid and has no callers', () => {
  expect(parseCallers('').tokens.size).toBe(0);
});

describe('a file is refused with a sentence that says where and why', () => {
  test.each([
    ['a syntax error', 'x = 1\n[[token\n', 'It is not TOML: the error is in line 2.'],
    ['a date that does not exist', 'x = 2027-13-45', 'It is not TOML'],
    ['an unknown table', '[[user]]\nname = "x"', 'The file has an unknown key "user".'],
    ['a table instead of a list', '[token]\nid = "x"', 'The file is not valid. Write [[token]] above each token.'],
    ['an unknown key', tokenRow({ premissions: '[]' }), 'Entry 1 of [[token]] has an unknown key "premissions".'],
    ['limits without a tenant', '[[tenant]]\nmax_frames = 1', 'Entry 1 of [[tenant]] has no "name".'],
    ['limits of no tenant', '[[tenant]]\nname = "A"', 'Entry 1 of [[tenant]]: name is not valid. A tenant has 1'],
    [
      'an unknown limit',
      '[[tenant]]\nname = "a"\nmax_rows = 1',
      'Entry 1 of [[tenant]] has an unknown key "max_rows".',
    ],
    ['limits given twice', '[[tenant]]\nname = "a"\n'.repeat(2), 'The limits of the tenant "a" are given twice.'],
    ['a table of limits', '[tenant]\nname = "a"', 'The file is not valid. Write [[tenant]] above the limits'],
    ...['max_bytes', 'max_frames', 'max_queries', 'max_result_bytes'].flatMap((key) =>
      ['-1', '0.5', '"1"', '1e300', 'inf', 'nan'].map((value): [string, string, string] => [
        `${key} = ${value}`,
        `[[tenant]]\nname = "a"\n${key} = ${value}`,
        `Entry 1 of [[tenant]]: ${key} is not valid. It is a whole number from 0`,
      ]),
    ),
    ...['0', '-1', '0.5', '2147483648', '"1"', 'nan'].map((value): [string, string, string] => [
      `max_result_ms = ${value}`,
      `[[tenant]]\nname = "a"\nmax_result_ms = ${value}`,
      'Entry 1 of [[tenant]]: max_result_ms is not valid. It is a whole number of milliseconds from 1',
    ]),
    ...['0', '-1', '1e7', '"1"', 'inf', 'nan'].map((value): [string, string, string] => [
      `requests_per_second = ${value}`,
      `[[tenant]]\nname = "a"\nrequests_per_second = ${value}`,
      'Entry 1 of [[tenant]]: requests_per_second is not valid. It is a number from 0.001 to 1000000',
    ]),
    ['no id', tokenRow({ id: undefined }), 'Entry 1 of [[token]] has no "id".'],
    ['no hash', tokenRow({ hash: undefined }), 'Entry 1 of [[token]] has no "hash".'],
    ['no tenant', tokenRow({ tenant: undefined }), 'Entry 1 of [[token]] has no "tenant".'],
    ['no permissions', tokenRow({ permissions: undefined }), 'Entry 1 of [[token]] has no "permissions".'],
    ['a short id', tokenRow({ id: '"t-1"' }), 'Entry 1 of [[token]]: id is not valid. It is the 8 characters'],
    ['a hash that is no hash', tokenRow({ hash: '"sha256:12"' }), 'hash is not valid. It is "sha256:"'],
    ['a hash of another kind', tokenRow({ hash: '"md5:12"' }), 'hash is not valid.'],
    ['a tenant in capitals', tokenRow({ tenant: '"Alpha"' }), 'tenant is not valid. A tenant has 1 to 63'],
    ['a tenant that is a path', tokenRow({ tenant: '"../x"' }), 'tenant is not valid.'],
    ['a tenant of 64 characters', tokenRow({ tenant: `"${'a'.repeat(64)}"` }), 'tenant is not valid.'],
    [
      'no permission',
      tokenRow({ permissions: '[]' }),
      'permissions is not valid. It is a list of at least one of read',
    ],
    ['an unknown permission', tokenRow({ permissions: '["root"]' }), 'permissions is not valid.'],
    ['a permission twice', tokenRow({ permissions: '["read", "read"]' }), 'permissions is not valid.'],
    ['permissions as a text', tokenRow({ permissions: '"read"' }), 'permissions is not valid.'],
    ['an expiry as a text', tokenRow({ expires: '"2027-01-01"' }), 'expires is not valid. It is a time with a zone'],
    ['an expiry without a zone', tokenRow({ expires: '2027-01-01T00:00:00' }), 'expires is not valid.'],
    ['an expiry that is a day', tokenRow({ expires: '2027-01-01' }), 'expires is not valid.'],
    ['the same id twice', tokenRow() + tokenRow(), 'There are two tokens with the id "t-abcdef".'],
  ])('%s', (_name, text, sentence) => {
    expect(() => parseCallers(text)).toThrow(sentence);
  });

  test('that quotes neither a hash nor a line of the file', () => {
    const broken = [tokenRow({ hash: '"sha256:5ec2e7"' }), `${tokenRow()}\nsecret-5ec2e7`];
    for (const text of broken) expect(() => parseCallers(text)).not.toThrow('5ec2e7');
  });
});

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-auth-'));
  path = join(folder, 'callers.toml');
});
afterEach(() => rm(folder, { recursive: true }));

const READER = { tenant: 'alpha', permissions: ['read'] } as const;
const idOf = (token: string): string => token.slice(4, 12);

test('a new token authenticates, and the file has only its hash', async () => {
  const expires = new Date('2099-01-01T00:00:00Z');
  const token = await addToken(path, { ...READER, expires, note: 'a "note" with \\ and é' });
  const text = await readFile(path, 'utf8');
  expect(text).not.toContain(token.slice(-43));
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const authenticator = await openAuthenticator({ callersFile: path });
  expect(await authenticator.authenticate({ authorization: `Bearer ${token}` })).toMatchObject({
    tenant: 'alpha',
    permissions: new Set(['read']),
    expires,
    note: 'a "note" with \\ and é',
  });
  authenticator.close();
});

test('adding and removing tokens keeps comments, other tokens, and the mode of the file', async () => {
  const first = await addToken(path, READER);
  const text = await readFile(path, 'utf8');
  await writeFile(path, `${text}# The one of the dashboard.\n`);
  await chmod(path, 0o640);
  const second = await addToken(path, { ...READER, note: '[[token]] in a note' });
  const third = await addToken(path, READER);
  await removeToken(path, idOf(second));
  expect([...(await loadCallers(path)).tokens.keys()]).toEqual([first, third].map(idOf));
  expect(await readFile(path, 'utf8')).toContain('# The one of the dashboard.');
  expect((await stat(path)).mode & 0o777).toBe(0o640);
  expect(await readdir(folder)).toEqual(['callers.toml']);
});

test('comments directly above a token go with it, and those of other tokens stay', async () => {
  const tokens = [await addToken(path, READER), await addToken(path, READER), await addToken(path, READER)];
  const names = ['alice', 'bob', 'carol'];
  const text = (await readFile(path, 'utf8')).replaceAll(
    '[[token]]',
    () => `# ${names.shift()}\n# of alpha\n[[token]]`,
  );
  await writeFile(path, text);
  await removeToken(path, idOf(tokens[1]));
  const left = await readFile(path, 'utf8');
  expect(left.match(/# (?:alice|bob|carol)|t-\w{6}/g)).toEqual([
    '# alice',
    idOf(tokens[0]),
    '# carol',
    idOf(tokens[2]),
  ]);
});

test('a symbolic link to the file stays one', async () => {
  await addToken(path, READER);
  const link = join(folder, 'link.toml');
  await symlink(path, link);
  await addToken(link, READER);
  expect((await loadCallers(path)).tokens.size).toBe(2);
});

test('an unknown id is refused', async () => {
  await addToken(path, READER);
  await expect(removeToken(path, 't-000000')).rejects.toThrow('has no token "t-000000".');
});

test('a file that is not valid stays as it is', async () => {
  await writeFile(path, '[[token');
  await expect(addToken(path, READER)).rejects.toThrow('It is not TOML');
  expect(await readFile(path, 'utf8')).toBe('[[token');
  expect(await readdir(folder)).toEqual(['callers.toml']);
});

test('two changes at once do not lose one: the later one is refused', async () => {
  await addToken(path, READER);
  await writeFile(`${path}.new`, '');
  await expect(addToken(path, READER)).rejects.toThrow('Another process is changing the callers file.');
  expect(await readdir(folder)).toEqual(['callers.toml', 'callers.toml.new']);
});

test('tokens that cannot be cut out are left alone', async () => {
  const token = await addToken(path, READER);
  const text = await readFile(path, 'utf8');
  const [, row = ''] = /\[\[token\]\]\n([^]*)/.exec(text) ?? [];
  const inline = `token = [{ ${row.trim().split('\n').join(', ')} }]\n`;
  await writeFile(path, inline);
  await expect(removeToken(path, idOf(token))).rejects.toThrow('remove its lines by hand');
  expect(await readFile(path, 'utf8')).toBe(inline);
});
