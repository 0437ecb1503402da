import { writeFileSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Caller } from '@svc/frames';
import type { AuthEvent } from './watch-files.ts';
import { openAuthenticator } from './authenticator.ts';
import { createToken, formatToken, hashSecret, parseToken, type Token } from './callers-file.ts';

const reader = createToken();
const expired = createToken();
const NOW = Date.parse('2026-06-01T00:00:00Z');

function row({ id, secret }: Token, more = ''): string {
  return `[[token]]\nid = "${id}"\nhash = "${hashSecret(secret)}"\ntenant = "alpha"\npermissions = ["read"]\n${more}\n`;
}

async function openWith(text: string, now = () => NOW) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-auth-'));
  const path = join(folder, 'callers.toml');
  await writeFile(path, text);
  const events: AuthEvent[] = [];
  const authenticator = await openAuthenticator({ callersFile: path, onEvent: (e) => events.push(e), pollMs: 10, now });
  onTestFinished(async () => {
    authenticator.close();
    await rm(folder, { recursive: true });
  });
  const connection = {};
  /** The caller, or the message of the refusal. All are asked on one connection. */
  const ask = async (authorization?: string): Promise<Caller | string> => {
    try {
      return await authenticator.authenticate({ authorization, connection });
    } catch (error) {
      expect(error).toMatchObject({ code: 'unauthenticated' });
      return error instanceof Error ? error.message : '';
    }
  };
  return { path, events, ask };
}

const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
const text = formatToken(reader);

test('a token has an id of 8 characters and a secret of 43', () => {
  expect(text).toMatch(/^svc_t-[a-z0-9]{6}_[A-Za-z0-9_-]{43}$/);
  expect(parseToken(text)).toEqual(reader);
});

test.each([
  ['Bearer', `Bearer ${text}`],
  ['Bearer in another letter case', `bEARER  ${text}`],
  ['Basic with any user', basic('anyone', text)],
  ['Basic without a user', basic('', text)],
])('a right token is accepted as %s', async (_how, authorization) => {
  const { ask } = await openWith(row(reader));
  expect(await ask(authorization)).toMatchObject({ id: reader.id, tenant: 'alpha', permissions: new Set(['read']) });
});

const WRONG = 'The token is unknown, wrong or revoked.';

test.each([
  ['nothing', undefined, 'The request has no credentials.'],
  ['an empty text', '', 'The credentials are neither Bearer nor Basic.'],
  ['another scheme', `Digest ${text}`, 'The credentials are neither Bearer nor Basic.'],
  ['a bare token', text, 'The credentials are neither Bearer nor Basic.'],
  ['two tokens', `Bearer ${text} ${text}`, 'The credentials are neither Bearer nor Basic.'],
  [
    'Basic without a password',
    `Basic ${Buffer.from('user').toString('base64')}`,
    'The Basic credentials have no password.',
  ],
  ['the token as the user', basic(text, ''), WRONG],
  ['a password with a colon before the token', basic('user', `x:${text}`), WRONG],
  ['an unknown id', `Bearer ${formatToken({ ...reader, id: 't-000000' })}`, WRONG],
  ['a wrong secret', `Bearer ${formatToken({ ...reader, secret: 'x'.repeat(43) })}`, WRONG],
  ['a secret in another letter case', `Bearer ${text.toUpperCase()}`, WRONG],
  ['a longer secret', `Bearer ${text}x`, WRONG],
  ['the hash instead of the secret', `Bearer svc_${reader.id}_${hashSecret(reader.secret)}`, WRONG],
  ['an unsigned JWT', 'Bearer eyJhbGciOiJub25lIn0.e30.', WRONG],
  ['17 KiB', `Bearer ${'x'.repeat(17 * 1024)}`, 'The credentials are too long.'],
  ['an expired token', `Bearer ${formatToken(expired)}`, 'The token expired at 2026-01-01T00:00:00.000Z.'],
])('%s is refused', async (_what, authorization, message) => {
  const { ask } = await openWith(row(reader) + row(expired, 'expires = 2026-01-01T00:00:00Z'));
  const answer = await ask(authorization);
  expect(answer).toBe(message);
  expect(answer).not.toContain(reader.secret);
});

test('a token expires while the file stays the same', async () => {
  let now = NOW;
  const { ask } = await openWith(row(reader, 'expires = 2026-06-01T00:00:01Z'), () => now);
  expect(await ask(`Bearer ${text}`)).toMatchObject({ id: reader.id });
  now += 1000;
  expect(await ask(`Bearer ${text}`)).toMatch('expired');
});

async function replace(path: string, content: string | Uint8Array): Promise<void> {
  await writeFile(`${path}.new`, content);
  await rename(`${path}.new`, path);
}

test.each([
  ['written', async (path: string, content: string) => writeFile(path, content)],
  ['replaced by a rename', replace],
])('a file that is %s is read again: a revoked token is refused, a new one accepted', async (_how, change) => {
  const { path, ask, events } = await openWith(row(reader));
  expect(await ask(`Bearer ${text}`)).toMatchObject({ id: reader.id });
  const added = createToken();
  await change(path, row(added));
  await expect.poll(() => ask(`Bearer ${text}`)).toBe(WRONG);
  expect(await ask(`Bearer ${formatToken(added)}`)).toMatchObject({ id: added.id });
  expect(events).toEqual([{ kind: 'callers_loaded', path, tokens: 1 }]);
});

test('a file that never rests is read again all the same: a revoked token is refused', async () => {
  const { path, ask } = await openWith(row(reader));
  let i = 0;
  const timer = setInterval(() => writeFileSync(path, `# ${i++}\n`), 1);
  onTestFinished(() => clearInterval(timer));
  await expect.poll(() => ask(`Bearer ${text}`)).toBe(WRONG);
});

test.each([
  ['does not parse', async (path: string) => replace(path, '[[token'), 'It is not TOML'],
  ['makes no sense', async (path: string) => replace(path, row(reader) + row(reader)), 'There are two tokens'],
  ['is gone', async (path: string) => rm(path), 'There is no such file.'],
  ['is not text', async (path: string) => replace(path, Buffer.from([0xff, 0xfe])), 'It is not text in UTF-8.'],
  ['is too large', async (path: string) => replace(path, '#'.repeat(5 * 2 ** 20)), 'It is larger than 4194304 bytes.'],
])('a file that %s leaves the last good one in force, until it is good again', async (_what, damage, reason) => {
  const { path, ask, events } = await openWith(row(reader));
  await damage(path);
  await expect.poll(() => events).toMatchObject([{ kind: 'callers_refused', path }]);
  expect(events[0]).toMatchObject({ reason: expect.stringContaining(reason) });
  expect(await ask(`Bearer ${text}`)).toMatchObject({ id: reader.id });
  await replace(path, '');
  await expect.poll(() => ask(`Bearer ${text}`)).toBe(WRONG);
});

test.each([
  ['missing', undefined, 'There is no such file.'],
  ['broken', '[[token', 'It is not TOML'],
])('a file that is %s at the start is an error that names it', async (_what, content, reason) => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-auth-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'callers.toml');
  if (content !== undefined) await writeFile(path, content);
  await expect(openAuthenticator({ callersFile: path })).rejects.toThrow(`"${path}" cannot be used. ${reason}`);
});
