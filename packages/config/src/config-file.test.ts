import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { loadConfig, type LoadConfigOptions } from './index.ts';

const FILE = '/home/ada/.service/config.toml';

/** Loads a default file with this text. */
function load(toml: string | Uint8Array, options: Partial<LoadConfigOptions> = {}) {
  const bytes = Buffer.from(toml);
  return loadConfig({ name: 'service', argv: [], env: {}, homeDir: '/home/ada', readFile: () => bytes, ...options });
}

/** Loads from the real file system. */
function fromDisk(options: Partial<LoadConfigOptions>) {
  return loadConfig({ name: 'service', argv: [], env: {}, homeDir: '', ...options });
}

function deny(): never {
  throw Object.assign(new Error('no'), { code: 'EACCES' });
}

describe('the file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'config-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const write = (name: string, content: string | Uint8Array): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  test('named by --config wins over the one named by SERVICE_CONFIG, and that over the default', () => {
    mkdirSync(join(folder, '.service'), { recursive: true });
    const [a, b] = [write('a.toml', 'server.grpc_port = 1'), write('b.toml', 'server.grpc_port = 2')];
    const standard = write('.service/config.toml', '\ufeffserver.grpc_port = 3\r\n');
    const env = { SERVICE_CONFIG: b };
    const expected = { [a]: 1, [b]: 2, [standard]: 3 };
    for (const [file, options] of [
      [a, { argv: ['--config', a], env }],
      [b, { env }],
      [standard, { env: { SERVICE_CONFIG: '' } }],
    ] as const) {
      const result = fromDisk({ homeDir: folder, ...options });
      expect(result).toMatchObject({ kind: 'config', file, config: { server: { grpc_port: expected[file] } } });
    }
    rmSync(standard);
  });

  test('that is the default may be missing, also without a home directory', () => {
    expect(fromDisk({ homeDir: folder }).kind).toBe('config');
    expect(fromDisk({ homeDir: '' }).kind).toBe('config');
    expect(fromDisk({ homeDir: write('plain-file', '') }).kind).toBe('config');
  });

  test.each([
    ['missing', '/does/not/exist.toml', 'there is no such file'],
    ['empty', '', 'there is no such file'],
    ['a directory', tmpdir(), 'it is a directory'],
    ['nonsense', 'a\0b', 'the system says ERR_INVALID_ARG_VALUE'],
  ])('that is named and %s is a problem', (_, path, reason) => {
    const result = fromDisk({ argv: [`--config=${path}`] });
    const message = `The configuration file ${JSON.stringify(path)} (named by --config) cannot be read: ${reason}.`;
    expect(result).toMatchObject({ kind: 'problems', problems: [{ source: { kind: 'file', path }, message }] });
  });

  test('that is not readable is a problem, even the default file', () => {
    expect(load('', { readFile: deny })).toMatchObject({
      kind: 'problems',
      problems: [{ message: `The configuration file "${FILE}" cannot be read: permission is denied.` }],
    });
    expect(load('', { readFile: deny, env: { SERVICE_CONFIG: '/x' } })).toMatchObject({
      problems: [
        { message: 'The configuration file "/x" (named by SERVICE_CONFIG) cannot be read: permission is denied.' },
      ],
    });
  });

  test('may have 64 KiB and no more', () => {
    const comment = `#${'x'.repeat(64 * 1024 - 1)}`;
    expect(fromDisk({ argv: ['--config', write('full.toml', comment)] }).kind).toBe('config');
    expect(fromDisk({ argv: ['--config', write('over.toml', `${comment}x`)] })).toMatchObject({
      problems: [{ message: 'The configuration file is larger than 65536 bytes.' }],
    });
    expect(fromDisk({ argv: ['--config', '/dev/zero'] }).kind).toBe('problems');
  });

  test.each([
    ['a = 1\n[server\n', 'line 2, column 8: Unexpected character, expected whitespace, . or ].'],
    ['grpc_port\n', 'line 1, column 10: Invalid character, expected "=".'],
    ['[server]\ngrpc_port =', 'line 2, column 12: Key without value.'],
    ['a = 1\na = 2', "line 2, column 6: Can't redefine existing key."],
    [
      'a = @',
      'line 1, column 5: Unexpected character, expecting string, number, datetime, boolean, inline array or inline table.',
    ],
    ['@ = 1', 'line 1, column 1: Unknown character "@".'],
    ['a = "\\q"', 'line 1, column 7: Unknown escape character: "q".'],
  ])('%j is not TOML, and the problem says where', (toml, place) => {
    const result = load(toml);
    expect(result).toMatchObject({ problems: [{ message: `The configuration file is not TOML: ${place}` }] });
  });

  test('that is not TOML does not show the lines around the error', () => {
    const result = load('[tsdb]\nuser = "u"\npassword = hunter2\n');
    expect(result.kind).toBe('problems');
    expect(JSON.stringify(result)).not.toContain('hunter2');
  });

  test.each([
    ['a date that does not exist', Buffer.from('a = 1979-13-45'), 'it contains a date that does not exist.'],
    ['bytes that are not UTF-8', Buffer.from([0x61, 0xff]), 'not TOML in UTF-8.'],
  ])('with %s is a problem', (_, bytes, end) => {
    const result = load(bytes);
    expect(result.kind === 'problems' && result.problems.map(({ message }) => message.endsWith(end))).toEqual([true]);
  });

  test('that cannot be read hides none of the other problems and invents none', () => {
    const result = load('[', { argv: ['--grpc-port', 'x'], env: { SERVICE_TSDB_PASSWORD: 'p' } });
    expect(result.kind === 'problems' && result.problems.map(({ source }) => source.kind)).toEqual(['file', 'flag']);
  });

  test.each([
    ['[sever]\na = 1', 'sever', 'Did you mean server?'],
    ['[server]\ngrpc_prot = 1', 'server.grpc_prot', 'Did you mean server.grpc_port?'],
    ['grpc_port = 1', 'grpc_port', 'Did you mean server.grpc_port?'],
    ['[server]\nlevel = "info"', 'server.level', 'Did you mean compression.level or logging.level?'],
    ['[server.tls]\na = 1', 'server.tls', '--help lists the settings.'],
    ['[dataframes]\ntimeout_ms = 1', 'dataframes', '--help lists the settings.'],
    ['[__proto__]\ngrpc_port = 1', '__proto__', '--help lists the settings.'],
    ['[server]\nconstructor = 1', 'server.constructor', '--help lists the settings.'],
  ])('%j has an unknown key, which is a warning', (toml, key, hint) => {
    const warnings = [{ source: { kind: 'file', path: FILE, key }, hint }];
    expect(load(toml)).toMatchObject({ kind: 'config', warnings, config: { server: { grpc_port: 50_052 } } });
  });

  test.each([
    ['server = 1', 'server is a section of settings, but the file gives it a value.'],
    ['[[server]]\ngrpc_port = 1', 'server is a section of settings, but the file gives it a value.'],
    ['server = 1979-05-27', 'server is a section of settings, but the file gives it a value.'],
    ['[server.grpc_port]\na = 1', 'server.grpc_port is a table, but must be a whole number from 0 to 65535.'],
    ['server.grpc_port = [1, "a"]', 'server.grpc_port is [1, "a"], but must be a whole number from 0 to 65535.'],
    ['server.grpc_port = "1"', 'server.grpc_port is "1", but must be a whole number from 0 to 65535.'],
    ['server.grpc_port = 1.5', 'server.grpc_port is 1.5, but must be a whole number from 0 to 65535.'],
    ['server.grpc_port = nan', 'server.grpc_port is NaN, but must be a whole number from 0 to 65535.'],
    [
      'server.grpc_port = 1979-05-27',
      'server.grpc_port is a date or time, but must be a whole number from 0 to 65535.',
    ],
    [
      'http.max_rows = 9007199254740993',
      'http.max_rows is 9007199254740993, but must be a whole number from 1 to 9007199254740991.',
    ],
    [
      'storage.cache_size_gb = inf',
      'storage.cache_size_gb is Infinity, but must be a number of gigabytes above 0, at most 1000000.',
    ],
    ['http.compression = "yes"', 'http.compression is "yes", but must be true or false.'],
    [
      'tsdb.http_url = {}',
      'tsdb.http_url is a table, but must be an http:// or https:// URL such as http://tsdb.example.com:9000.',
    ],
  ])('%j is a value of the wrong kind', (toml, message) => {
    const result = load(toml);
    expect(result.kind === 'problems' && result.problems.map((problem) => problem.message)).toEqual([message]);
  });
});
