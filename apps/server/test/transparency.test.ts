import { beforeAll, describe, expect, test } from 'vitest';
import { ask } from '../../../packages/tsdb-proxy/src/testing/ask.ts';
import { startRecordedDatabase } from '../../../packages/tsdb-proxy/src/testing/recorded-database.ts';
import {
  responseOf,
  comparable,
  loadRecording,
  type RecordedCase,
  SECURED_USER,
} from '../../../packages/tsdb-proxy/src/testing/recording.ts';
import { DIFFERENCES } from './proxy-differences.ts';
import { startProcess } from './server-process.ts';

const CASES = loadRecording();
/** The server in front of each database, by its profile. */
const servers = new Map<RecordedCase['profile'], string>();

beforeAll(async () => {
  const ends: (() => Promise<void>)[] = [];
  for (const profile of [undefined, 'secured'] as const) {
    const database = await startRecordedDatabase(profile);
    ends.push(database.close);
    const server = await startProcess({
      env: { SERVICE_TSDB_HTTP_URL: database.url, SERVICE_HTTP_DEFAULT_FMT: 'json' },
      toml:
        profile === undefined ? '' : `[tsdb]\nuser = "${SECURED_USER.user}"\npassword = "${SECURED_USER.password}"\n`,
      onEnd: (end) => ends.push(end),
    });
    servers.set(profile, server.url);
  }
  return async () => {
    for (const end of ends) await end();
  };
});

describe('the recorded responses of QuestDB', () => {
  test.each(CASES.filter(({ id }) => DIFFERENCES[id] === undefined))('to $id passes through', async (one) => {
    const answer = await ask(servers.get(one.profile)!, one);
    expect(comparable(one, answer)).toEqual(comparable(one, responseOf(one)));
  });

  test.each(CASES.filter(({ id }) => DIFFERENCES[id] !== undefined).map((one) => ({ ...one, ...DIFFERENCES[one.id] })))(
    'to $id is $status here: $why',
    async ({ status, code, ...one }) => {
      const answer = await ask(servers.get(one.profile)!, one);
      expect(answer?.status).toBe(status);
      if (code !== undefined) expect(JSON.parse(String(answer?.body))).toMatchObject({ code });
    },
  );

  test('differs here only where the recording has the request', () => {
    expect(Object.keys(DIFFERENCES).filter((id) => !CASES.some((one) => one.id === id))).toEqual([]);
  });
});
