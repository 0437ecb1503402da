import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CA_FILE, load, loaded } from '../test/load-given.ts';
import { loadConfig } from './index.ts';

const DB = { TSDB_HTTP_URL: 'https://db:9000' };
const [ROOT = '', OTHER_ROOT = ''] = rootCertificates;

/** Returns the problems of a configuration whose CA file has this content. */
function problemsOf(content: string | Buffer): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'svc-ca-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'ca.pem');
  writeFileSync(file, content);
  const env = { ...DB, SERVICE_TSDB_CA_FILE: file };
  const result = loadConfig({ name: 'service', argv: [], env, homeDir: '' });
  return result.kind === 'problems' ? result.problems.map(({ message }) => message.replace(file, 'FILE')) : [];
}

describe('tsdb.ca_file', () => {
  test.each([
    ['one certificate', ROOT],
    ['several', `# ours\n${ROOT}\n${OTHER_ROOT}\r\n`],
    ['a bundle of all there are', rootCertificates.join('\n')],
  ])('may hold %s', (_name, content) => {
    expect(problemsOf(content)).toEqual([]);
  });

  test.each([
    ['nothing', ''],
    ['something else', 'hello'],
    ['a certificate in DER form', Buffer.from(ROOT.replaceAll(/-----.*-----|\s/g, ''), 'base64')],
    ['half a certificate', ROOT.slice(0, 300)],
    ['a certificate and a broken one', `${ROOT}\n${OTHER_ROOT.replace('MII', 'AAA')}`],
    ['a key', '-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n'],
  ])('that holds %s is a problem', (_name, content) => {
    expect(problemsOf(content)).toEqual(['tsdb.ca_file is "FILE", which does not contain PEM certificates.']);
  });

  test('that is too large is a problem', () => {
    expect(problemsOf(' '.repeat(2 ** 20 + 1))).toEqual([
      'tsdb.ca_file is "FILE", which is larger than 1048576 bytes.',
    ]);
  });

  test('that is missing is a problem among the others', () => {
    const result = load({ env: { ...DB, SERVICE_TSDB_CA_FILE: '/none.pem', SERVICE_GRPC_PORT: 'x' } });
    expect(result).toMatchObject({
      kind: 'problems',
      problems: [
        { setting: 'server.grpc_port' },
        {
          setting: 'tsdb.ca_file',
          source: { kind: 'variable', name: 'SERVICE_TSDB_CA_FILE' },
          value: '"/none.pem"',
          message: 'tsdb.ca_file is "/none.pem", which cannot be read: there is no such file.',
        },
      ],
    });
  });

  test.each([
    [{}, 'tsdb.ca_file has no effect without tsdb.http_url.'],
    [{ TSDB_HTTP_URL: 'http://db:9000' }, 'tsdb.ca_file has no effect, because tsdb.http_url begins with http://.'],
  ])('with %j is a warning', (env, message) => {
    const { warnings } = loaded({ env: { ...env, SERVICE_TSDB_CA_FILE: CA_FILE } });
    expect(warnings.map((warning) => warning.message)).toEqual([message]);
  });
});
