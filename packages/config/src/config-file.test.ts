import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { readBoundedFile, readFailure } from './config-file.ts';
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
    [
      '[http]\nanswer_cache_bytes = 0',
      'http.answer_cache_bytes',
      'Short responses take a twelfth of storage.cache_size_gb.',
    ],
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

/** A named pipe. */
function makePipe(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pipe-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  return path;
}

/** Starts a process that writes the texts to a pipe, with a pause before each. */
function writeInto(path: string, ...texts: readonly string[]): void {
  const commands = texts.map((text) => `sleep 0.1; printf '${text}'`);
  const writer = spawn('/bin/sh', ['-c', `{ ${commands.join('; ')}; } > "$0"`, path], { stdio: 'ignore' });
  onTestFinished(() => void writer.kill());
}

describe.skipIf(process.platform === 'win32')('a pipe', () => {
  test('is read to its end, even if its writer is late', () => {
    const path = makePipe();
    writeInto(path, 'first ', 'second');
    expect(Buffer.from(readBoundedFile(path, 100)).toString()).toBe('first second');
  });

  test('returns at most one byte more than the limit', () => {
    const path = makePipe();
    writeInto(path, '123456789');
    expect(readBoundedFile(path, 3)).toHaveLength(4);
  });

  test('does not change how Node resolves links afterwards', () => {
    const path = makePipe();
    const folder = realpathSync(dirname(path));
    mkdirSync(join(folder, 'package'));
    for (const name of ['first.js', 'second.js']) writeFileSync(join(folder, 'package', name), '');
    symlinkSync('package', join(folder, 'link'));
    const { resolve } = createRequire(import.meta.url);
    resolve(join(folder, 'link', 'first.js'));
    // What was looked at before, by any test, is forgotten.
    statSync(folder);
    writeInto(path, 'text');
    readBoundedFile(path, 100);
    expect(resolve(join(folder, 'link', 'second.js'))).toBe(join(folder, 'package', 'second.js'));
  });

  test('that nothing writes to is an error after a timeout', () => {
    const path = makePipe();
    let failure: unknown;
    try {
      readBoundedFile(path, 100, 50);
    } catch (error) {
      failure = error;
    }
    expect(readFailure(failure)).toBe('it is a pipe that nothing writes to');
  });
});
