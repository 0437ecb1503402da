import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadCallers, openAuthenticator } from './authenticator.ts';
import { addToken, removeToken } from './edit-callers.ts';

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
