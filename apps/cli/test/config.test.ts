import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SETTINGS } from '@svc/config';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { run } from './run.ts';

let homeDir: string;

beforeEach(async () => {
  homeDir = await mkdtemp(join(tmpdir(), 'svc-home-'));
});

afterEach(async () => {
  await rm(homeDir, { recursive: true });
});

async function writeConfig(toml: string, path = join(homeDir, '.service', 'config.toml')): Promise<string> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, toml);
  return path;
}

describe('svc config', () => {
  test('prints every setting with its value and source', async () => {
    const file = await writeConfig('[server]\ngrpc_port = 1234\n[http]\ncors_origins = ["http://a", "http://b"]\n');
    const { code, stdout, stderr } = await run(['config'], { homeDir, env: { SERVICE_LOG_LEVEL: 'DEBUG' } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const rows = stdout.split('\n').map((line) => line.split(/ {2,}/));
    expect(rows).toContainEqual(['server.http_bind_address', '0.0.0.0:9000', 'default']);
    expect(rows).toContainEqual(['server.grpc_port', '1234', `file ${file}, key server.grpc_port`]);
    expect(rows).toContainEqual(['logging.level', 'debug', 'variable SERVICE_LOG_LEVEL']);
    expect(rows).toContainEqual(['http.cors_origins', 'http://a,http://b', `file ${file}, key http.cors_origins`]);
    expect(rows).toContainEqual(['tsdb.http_url', 'null', 'default']);
  });

  test('--json is an array with values of their types', async () => {
    const { stdout } = await run(['config', '--json'], { env: { SERVICE_HTTP_BIND_ADDRESS: '[::1]:80' } });
    const rows: { setting: string }[] = JSON.parse(stdout);
    expect(rows.map(({ setting }) => setting)).toEqual(
      Object.entries(SETTINGS).flatMap(([section, settings]) =>
        Object.keys(settings).map((key) => `${section}.${key}`),
      ),
    );
    const source = 'variable SERVICE_HTTP_BIND_ADDRESS';
    expect(rows).toContainEqual({ setting: 'server.http_bind_address', value: '[::1]:80', source });
    expect(rows).toContainEqual({ setting: 'http.compression', value: true, source: 'default' });
    expect(rows).toContainEqual({ setting: 'http.max_rows', value: null, source: 'default' });
  });

  test.each([[[]], [['--json']]])('hides secrets (%j)', async (flags) => {
    const env = { SERVICE_TSDB_TOKEN: 'hunter2', SERVICE_TSDB_HTTP_URL: 'http://db' };
    const { stdout, stderr } = await run(['config', ...flags], { env });
    expect(stdout).toMatch(/tsdb\.token.*\*\*\*.*variable SERVICE_TSDB_TOKEN/);
    expect(stdout + stderr).not.toContain('hunter2');
  });

  test('reads the file of --config', async () => {
    const file = await writeConfig('logging.level = "error"', join(homeDir, 'other.toml'));
    expect((await run(['config', '--config', file], { homeDir })).stdout).toMatch(/\nlogging\.level +error +file /);
  });

  test('prints warnings to standard error, and the settings all the same', async () => {
    const { code, stdout, stderr } = await run(['config'], { env: { SERVICE_GRPC_PROT: '1' } });
    expect({ code, rows: stdout.includes('server.grpc_port') }).toEqual({ code: 0, rows: true });
    expect(stderr).toMatch(/^warning: .*SERVICE_GRPC_PROT.*\nhint: Did you mean SERVICE_GRPC_PORT\?\n$/);
  });

  test('reports all problems and ends with 2', async () => {
    const env = { SERVICE_GRPC_PORT: 'x', SERVICE_LOG_LEVEL: 'loud' };
    const { code, stdout, stderr } = await run(['config'], { env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr.split('\n')).toEqual([
      'error: The configuration has 2 problems.',
      expect.stringMatching(/^ {2}server\.grpc_port is "x", .* \(variable SERVICE_GRPC_PORT\)$/),
      '    For example: SERVICE_GRPC_PORT=50052',
      expect.stringMatching(/^ {2}logging\.level is "loud", .* \(variable SERVICE_LOG_LEVEL\)$/),
      '    For example: SERVICE_LOG_LEVEL=info',
      'hint: svc help settings lists the settings and their valid values.',
      '',
    ]);
  });
});
