import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { createServer } from 'node:tls';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startProcess, testFile } from '../../apps/server/test/server-process.ts';
import { createTestAuthority } from '../../tools/test-certificates.js';
import { execUrl } from './exec.ts';
import { startQuestdb } from './start-questdb.js';

const authority = await createTestAuthority();
const hasIpv6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'));
const HOSTS = hasIpv6 ? ['127.0.0.1', '::1'] : ['127.0.0.1'];

/** A database with a user, below a path. */
let database: Awaited<ReturnType<typeof startQuestdb>>;

beforeAll(async () => {
  database = await startQuestdb({
    path: '/qdb',
    env: { QDB_HTTP_USER: 'ada', QDB_HTTP_PASSWORD: 'p:w d', QDB_HTTP_CONTEXT_WEB_CONSOLE: '/qdb' },
  });
  return database.stop;
});

/** Starts a TLS terminator in front of the database. Returns its URL. */
async function startTls(host: string): Promise<string> {
  const server = createServer(await authority.issue([host]), (client) => {
    const upstream = connect(database.port, '127.0.0.1');
    client.on('error', () => undefined).on('close', () => upstream.destroy());
    upstream.on('error', () => undefined).on('close', () => client.destroy());
    client.pipe(upstream).pipe(client);
    onTestFinished(() => void client.destroy());
  });
  server.listen(0, host);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}/qdb`;
}

const caFile = (): string => testFile('ca.pem', authority.cert);

describe.each(HOSTS)('a database behind TLS at %s, with a user and below a path', (host) => {
  test('answers', async () => {
    const server = await startProcess({
      env: { SERVICE_TSDB_HTTP_URL: await startTls(host), SERVICE_TSDB_CA_FILE: caFile() },
      toml: '[tsdb]\nuser = "ada"\npassword = "p:w d"\n',
    });
    const answer = await fetch(execUrl(server.url, 'select 1'));
    expect([answer.status, await answer.json()]).toMatchObject([200, { dataset: [[1]] }]);
    expect(await (await fetch(`${server.url}/exp?query=select%201%20a`)).text()).toBe('"a"\r\n1\r\n');
    expect(await (await fetch(`${server.url}/chk?f=json&j=none`)).text()).toBe('{"status":"Does not exist"}');
  });

  test('is 502 with the wrong password, which is logged and not shown', async () => {
    const server = await startProcess({
      env: { SERVICE_TSDB_HTTP_URL: await startTls(host), SERVICE_TSDB_CA_FILE: caFile() },
      toml: '[tsdb]\nuser = "ada"\npassword = "hunter2"\n',
    });
    const answer = await fetch(execUrl(server.url, 'select 1'));
    expect([answer.status, await answer.json()]).toMatchObject([502, { code: 'tsdb_failed' }]);
    await server.logged((line) => line.message.includes('refused the credentials'));
    expect(JSON.stringify(server.log)).not.toContain('hunter2');
  });
});
