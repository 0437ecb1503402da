import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { DIFFERENCES } from '../../apps/server/test/proxy-differences.ts';
import { type ServerProcess, startProcess } from '../../apps/server/test/server-process.ts';
import { type RawResponse, type RawRequest, ask } from '../../packages/tsdb-proxy/src/testing/ask.ts';
import {
  responseOf,
  comparable,
  loadRecording,
  type RecordedCase,
  saveRecording,
  SECURED_USER,
} from '../../packages/tsdb-proxy/src/testing/recording.ts';
import { startQuestdb } from './start-questdb.js';

const SECURED_ENV = {
  QDB_HTTP_USER: SECURED_USER.user,
  QDB_HTTP_PASSWORD: SECURED_USER.password,
  QDB_HTTP_SECURITY_READONLY: 'true',
  QDB_HTTP_SECURITY_MAX_RESPONSE_ROWS: '5',
};
const SECURED_TOML = `[tsdb]\nuser = "${SECURED_USER.user}"\npassword = "${SECURED_USER.password}"\n`;

/** Takes a considerable part of a second. */
const SLOW_SQL = 'select sum(sqrt(x) * sin(x)) from long_sequence(20000000)';

const CASES = loadRecording();
const direct = new Map<string, RawResponse | undefined>();
const proxied = new Map<string, RawResponse | undefined>();

/** Runs the cases of a profile in order: first on the database, then, from the same initial state, on the server. */
async function askBoth(profile: RecordedCase['profile'], databaseUrl: string, serverUrl: string): Promise<void> {
  for (const [url, answers] of [
    [databaseUrl, direct],
    [serverUrl, proxied],
  ] as const) {
    if (profile === undefined) await ask(databaseUrl, { path: '/exec?query=drop%20all%20tables' });
    for (const one of CASES) if (one.profile === profile) answers.set(one.id, await ask(url, one));
  }
}

function startInFrontOf(url: string, toml: string, ends: (() => Promise<void>)[]): Promise<ServerProcess> {
  return startProcess({
    env: { SERVICE_TSDB_HTTP_URL: url, SERVICE_HTTP_DEFAULT_FMT: 'json' },
    toml,
    onEnd: (end) => ends.push(end),
  });
}

beforeAll(async () => {
  const ends: (() => Promise<void>)[] = [];
  const open = inject('questdbUrl');
  await askBoth(undefined, open, (await startInFrontOf(open, '', ends)).url);
  const secured = await startQuestdb({ env: SECURED_ENV });
  ends.push(secured.stop);
  await askBoth('secured', secured.url, (await startInFrontOf(secured.url, SECURED_TOML, ends)).url);
  return async () => {
    for (const end of ends) await end();
  };
});

afterAll(() => {
  if (process.env['SVC_RECORD'] === '1') saveRecording(CASES, direct);
});

describe('the recording', () => {
  test.each(CASES)('of $id is what the database answers', (one) => {
    expect(comparable(one, direct.get(one.id))).toEqual(comparable(one, responseOf(one)));
  });
});

describe('through the server', () => {
  test.each(CASES.filter(({ id }) => DIFFERENCES[id] === undefined))('$id is what the database answers', (one) => {
    expect(direct.get(one.id)).toBeDefined();
    expect(comparable(one, proxied.get(one.id))).toEqual(comparable(one, direct.get(one.id)));
  });

  test.each(CASES.filter(({ id }) => DIFFERENCES[id] !== undefined).map(({ id }) => ({ id, ...DIFFERENCES[id] })))(
    '$id is $status: $why',
    ({ id, status, code }) => {
      const answer = proxied.get(id);
      expect(answer?.status).toBe(status);
      if (code !== undefined) expect(JSON.parse(String(answer?.body))).toMatchObject({ code });
    },
  );
});

describe('a request target', () => {
  /** A query with the given length on the wire, padded with a comment. */
  const sized = (bytes: number): RawRequest => {
    const start = '/exec?fmt=json&query=select%201--';
    return { path: start + 'x'.repeat(bytes - start.length) };
  };

  test('of 32 000 bytes is forwarded', async () => {
    const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: inject('questdbUrl') } });
    const [own, theirs] = [await ask(server.url, sized(32_000)), await ask(inject('questdbUrl'), sized(32_000))];
    expect(theirs?.status).toBe(200);
    expect(own?.body).toEqual(theirs?.body);
  });

  test('on which the database would close the connection is 414', async () => {
    const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: inject('questdbUrl') } });
    expect(await ask(inject('questdbUrl'), sized(32_211))).toBeUndefined();
    expect((await ask(server.url, sized(32_211)))?.status).toBe(414);
  });
});

test('a Statement-Timeout header of a client is not forwarded, because it would cancel queries of others', async () => {
  const server = await startProcess({ env: { SERVICE_TSDB_HTTP_URL: inject('questdbUrl') } });
  const slow = { path: `/exec?fmt=json&query=${encodeURIComponent(SLOW_SQL)}`, headers: { 'Statement-Timeout': '1' } };
  expect((await ask(server.url, slow))?.status).toBe(200);
});
