import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import { networkInterfaces } from 'node:os';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createTestAuthority } from '../../../tools/test-certificates.js';
import { runToEnd, startProcess, testFile } from './server-process.ts';

const SQL = '/exec?query=select%201&fmt=json';
const authority = await createTestAuthority();
const hasIpv6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === '::1'));

const caFile = (text = authority.cert): string => testFile('ca.pem', text);

/** Starts a stand-in over TLS that echoes the request; returns its port. */
async function startTls(host: string): Promise<number> {
  const server: Server = createServer(await authority.issue([host]), ({ headers, url }, response) => {
    response.end(`${headers.authorization} ${url}`);
  });
  server.listen(0, host);
  await once(server, 'listening');
  onTestFinished(() => server.closeAllConnections());
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe('a database over TLS', () => {
  test(
    'is reached with tsdb.ca_file, credentials and a path, and not without the authority',
    { tags: ['slow'] },
    async () => {
      const port = await startTls('127.0.0.1');
      const env = {
        SERVICE_TSDB_HTTP_URL: `https://127.0.0.1:${port}/team/db`,
        SERVICE_TSDB_USER: 'me',
        SERVICE_TSDB_PASSWORD: 'right',
      };
      const trusting = await startProcess({ env: { ...env, SERVICE_TSDB_CA_FILE: caFile() } });
      expect(await (await trusting.fetch(SQL)).text()).toBe(
        `Basic ${btoa('me:right')} /team/db/exec?query=select%201&fmt=json`,
      );
      expect(await (await trusting.fetch('/chk?j=t')).text()).toBe(`Basic ${btoa('me:right')} /team/db/chk?j=t`);
      const strict = await startProcess({ env });
      const refused = await strict.fetch(SQL);
      expect([refused.status, await refused.json()]).toMatchObject([
        502,
        { code: 'tsdb_failed', hint: 'Set tsdb.ca_file to the certificate of its authority.' },
      ]);
    },
  );

  test.runIf(hasIpv6)('is reached at an IPv6 address', { tags: ['slow'] }, async () => {
    const port = await startTls('::1');
    const env = { SERVICE_TSDB_HTTP_URL: `https://[::1]:${port}`, SERVICE_TSDB_CA_FILE: caFile() };
    const server = await startProcess({ env: { ...env, SERVICE_TSDB_TOKEN: 'abc' } });
    expect(await (await server.fetch(SQL)).text()).toBe('Bearer abc /exec?query=select%201&fmt=json');
  });

  test('with an unreadable authority file is a problem at the start', async () => {
    const env = { SERVICE_TSDB_HTTP_URL: 'https://127.0.0.1:1', SERVICE_TSDB_CA_FILE: caFile('none') };
    const { code, stderr } = await runToEnd([], env);
    expect([code, stderr]).toEqual([2, expect.stringContaining('which does not contain PEM certificates')]);
  });
});
