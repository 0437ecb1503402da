import { describe, expect, test } from 'vitest';
import { loadConfig } from './index.ts';

function valueOf(variable: string, text: string): unknown {
  const result = loadConfig({ name: 'service', argv: [], env: { [variable]: text }, homeDir: '' });
  if (result.kind === 'problems') return result.problems.map(({ message }) => message).join(' ');
  if (result.kind !== 'config') return result.kind;
  const values: Readonly<Record<string, Readonly<Record<string, unknown>>>> = result.config;
  return Object.entries(result.sources).flatMap(([section, sources]) =>
    Object.entries(sources)
      .filter(([, source]) => source.kind === 'variable')
      .map(([key]) => values[section]?.[key]),
  )[0];
}

const REFUSED = expect.stringContaining(', but must be ');

describe('an address', () => {
  test.each([
    ['0.0.0.0:9000', { host: '0.0.0.0', port: 9000 }],
    [':9000', { host: '0.0.0.0', port: 9000 }],
    ['[::1]:0', { host: '::1', port: 0 }],
    ['[::]:65535', { host: '::', port: 65_535 }],
    [' localhost:80 ', { host: 'localhost', port: 80 }],
    ['a-b.example.com:1', { host: 'a-b.example.com', port: 1 }],
    ['node_1:1', { host: 'node_1', port: 1 }],
  ])('%j is read', (text, address) => {
    expect(valueOf('SERVICE_HTTP_BIND_ADDRESS', text)).toEqual(address);
  });

  test.each([
    '9000',
    'localhost',
    'localhost:',
    ':',
    ' ',
    '::1:9000',
    '[::1]',
    '[]:1',
    '[1.2.3.4]:1',
    '1.2.3:1',
    '256.1.1.1:1',
    'a:65536',
    'a:-1',
    'a:1.5',
    'a:0x1',
    'a:123456',
    'a b:1',
    'http://a:1',
    'a:1/',
    '*:1',
    '-a:1',
    'a..b:1',
    'a:1:2',
    `${'a'.repeat(254)}:1`,
  ])('%j is refused', (text) => {
    expect(valueOf('SERVICE_HTTP_BIND_ADDRESS', text)).toEqual(REFUSED);
  });
});

describe('a host', () => {
  test.each([
    ['::1', '::1'],
    ['[::1]', '::1'],
    ['fe80::1%eth0', 'fe80::1%eth0'],
    ['10.0.0.1', '10.0.0.1'],
    ['db.example.com', 'db.example.com'],
  ])('%j is read as %j', (text, host) => {
    expect(valueOf('SERVICE_GRPC_HOST', text)).toBe(host);
  });

  test.each(['a:1', '10.0.0', '[10.0.0.1]', '[a]', 'a b', '*', 'a/b', 'ä', ' '])('%j is refused', (text) => {
    expect(valueOf('SERVICE_GRPC_HOST', text)).toEqual(REFUSED);
  });
});

describe('a whole number', () => {
  test.each([
    ['0', 0],
    [' 65535 ', 65_535],
    ['+1', 1],
    ['007', 7],
  ])('%j is read as %d', (text, value) => {
    expect(valueOf('SERVICE_GRPC_PORT', text)).toBe(value);
  });

  test.each(['-1', '65536', '1.0', '1e3', '0x10', '1_000', 'NaN', 'Infinity', '١', ' ', '99999999999999999999'])(
    '%j is refused',
    (text) => {
      expect(valueOf('SERVICE_GRPC_PORT', text)).toBe(
        `server.grpc_port is ${JSON.stringify(text)}, but must be a whole number from 0 to 65535.`,
      );
    },
  );

  test.each([
    ['SERVICE_MAX_CONNECTIONS', 1, 1_000_000],
    ['SERVICE_SERVER_SHUTDOWN_GRACE_MS', 0, 2_147_483_647],
    ['SERVICE_COMPRESSION_LEVEL', 1, 22],
    ['SERVICE_HTTP_MAX_UPLOAD_BYTES', 1, Number.MAX_SAFE_INTEGER],
    ['SERVICE_HTTP_MAX_ROWS', 1, Number.MAX_SAFE_INTEGER],
    ['SERVICE_HTTP_IDLE_TIMEOUT_MS', 1, 2_147_483_647],
    ['SERVICE_TSDB_CONNECT_TIMEOUT_MS', 1, 2_147_483_647],
    ['SERVICE_TSDB_TIMEOUT_MS', 1, 2_147_483_647],
    ['SERVICE_TSDB_IDLE_TIMEOUT_MS', 1, 2_147_483_647],
    ['SERVICE_GRPC_MAX_MESSAGE_BYTES', 1, 2_147_483_647],
  ])('of %s is from %d to %d', (variable, min, max) => {
    expect(valueOf(variable, String(min))).toBe(min);
    expect(valueOf(variable, String(max))).toBe(max);
    expect(valueOf(variable, String(min - 1))).toEqual(REFUSED);
    expect(valueOf(variable, String(BigInt(max) + 1n))).toEqual(REFUSED);
  });
});

describe('a size in gigabytes', () => {
  test.each([
    ['2.0', 2],
    ['2', 2],
    ['.5', 0.5],
    ['0.25', 0.25],
    ['1000000', 1_000_000],
  ])('%j is read as %d', (text, value) => {
    expect(valueOf('SERVICE_CACHE_SIZE', text)).toBe(value);
  });

  test.each(['0', '-1', '1000000.5', '2GB', '1e3', '.', 'NaN', 'Infinity', '1,5'])('%j is refused', (text) => {
    expect(valueOf('SERVICE_CACHE_SIZE', text)).toEqual(REFUSED);
  });
});

describe('a switch', () => {
  test.each([
    ...['true', '1', 'yes', 'on', 'TRUE', ' On '].map((text) => [text, true] as const),
    ...['false', '0', 'no', 'off', 'False'].map((text) => [text, false] as const),
  ])('%j is read as %s', (text, value) => {
    expect(valueOf('SERVICE_HTTP_COMPRESSION', text)).toBe(value);
  });

  test.each(['2', 'y', 'nope', ' ', 'truefalse'])('%j is refused', (text) => {
    expect(valueOf('SERVICE_HTTP_COMPRESSION', text)).toEqual(REFUSED);
  });
});

describe('a word', () => {
  test.each([
    ['SERVICE_LOG_LEVEL', 'Trace', 'trace'],
    ['SERVICE_LOG_LEVEL', 'DEBUG', 'debug'],
    ['SERVICE_LOG_LEVEL', 'INFO', 'info'],
    ['SERVICE_LOG_LEVEL', 'Warning', 'warn'],
    ['SERVICE_LOG_LEVEL', 'fatal', 'error'],
    ['SERVICE_LOG_LEVEL', 'silent', 'off'],
    ['SERVICE_LOG_FORMAT', 'JSON', 'json'],
    ['SERVICE_COMPRESSION', 'Snappy', 'snappy'],
    ['SERVICE_COMPRESSION', 'none', 'none'],
    ['SERVICE_HTTP_DEFAULT_FMT', 'json', 'json'],
  ])('%s=%s is read as %s', (variable, text, value) => {
    expect(valueOf(variable, text)).toBe(value);
  });

  test.each([
    ['SERVICE_LOG_LEVEL', 'info,h2=warn', 'one of trace, debug, info, warn, error, off'],
    ['SERVICE_LOG_LEVEL', '__proto__', 'one of trace, debug, info, warn, error, off'],
    ['SERVICE_LOG_FORMAT', 'xml', 'one of text, json'],
    ['SERVICE_COMPRESSION', 'brotli', 'one of zstd, snappy, gzip, lz4, none'],
    ['SERVICE_HTTP_DEFAULT_FMT', 'csv', '"json"'],
  ])('%s=%s is refused', (variable, text, expected) => {
    expect(valueOf(variable, text)).toEqual(expect.stringContaining(`is "${text}", but must be ${expected}.`));
  });
});

describe('a path', () => {
  test.each(['/data/cold', './d', 'd', 'C:\\data', '/a b/ä', '~a', '/a/~'])('%j is accepted unchanged', (text) => {
    expect(valueOf('SERVICE_DATA_DIR', text)).toBe(text);
  });

  test.each([
    ['~', 'the path of a directory with the home directory written out (~ is not expanded)'],
    ['~/data', 'the path of a directory with the home directory written out (~ is not expanded)'],
    ['/a\nb', 'the path of a directory without control characters'],
    ['/a\ud800', 'the path of a directory without control characters'],
    [' ', 'the path of a directory'],
  ])('%j is refused', (text, expected) => {
    expect(valueOf('SERVICE_DATA_DIR', text)).toEqual(expect.stringContaining(`, but must be ${expected}.`));
  });
});

describe('the URL of the time-series database', () => {
  test.each([
    ['http://127.0.0.1:9009', 'http://127.0.0.1:9009'],
    ['http://db:9000/', 'http://db:9000'],
    ['HTTPS://DB.example.com//', 'https://db.example.com'],
    ['http://db/base/path/', 'http://db/base/path'],
    ['http://[::1]:9001', 'http://[::1]:9001'],
    [' http://db ', 'http://db'],
    ['http://db/@x', 'http://db/@x'],
    ['http://db/executive', 'http://db/executive'],
  ])('%j is read as %j', (text, url) => {
    expect(valueOf('TSDB_HTTP_URL', text)).toBe(url);
  });

  test.each([
    'db:9000',
    'ftp://db',
    'http:/db',
    'http:db',
    'http://',
    'http:///db',
    'http://a b',
    'http://db:99999',
    ' ',
    'http:\\\\db',
    'http://db\\x',
    'http://d\tb',
    '//db',
    'unix:///tmp/x',
  ])('%j is refused', (text) => {
    expect(valueOf('TSDB_HTTP_URL', text)).toEqual(REFUSED);
  });

  test.each([
    ['http://db?x=1', 'a URL without a query or fragment.'],
    ['http://db/?', 'a URL without a query or fragment.'],
    ['http://db/#x', 'a URL without a query or fragment.'],
    ['http://db:0', 'a URL with a port from 1 to 65535.'],
    ['http://db/exec', 'the base URL, without /exec at its end (the server adds it).'],
    ['http://db/base/exec/', 'the base URL, without /exec at its end (the server adds it).'],
  ])('%j is refused with its own reason', (text, reason) => {
    expect(valueOf('TSDB_HTTP_URL', text)).toEqual(expect.stringMatching(reason.replaceAll(/[().]/g, String.raw`\$&`)));
  });

  test.each([
    'http://ada:hunter2@db:9000',
    'http://hunter2@db',
    'https://ada:hunter2@@db/x',
    'http://ada:hunter2/x@db',
    'http://ada:hun"ter2 hunter2@db',
    'ada:hunter2@db',
    'ftp://ada:hunter2@db',
  ])('%j is refused without showing the password', (text) => {
    const message = valueOf('TSDB_HTTP_URL', text);
    expect(message).toEqual(REFUSED);
    expect(message).not.toMatch(/hunter2|hun"|ter2/);
  });

  test('with credentials names the settings they belong to', () => {
    expect(valueOf('TSDB_HTTP_URL', 'http://ada:x@db')).toBe(
      'tsdb.http_url is "***@db", but must be a URL without credentials (set tsdb.user and tsdb.password, or tsdb.token, instead).',
    );
  });
});

describe('origins', () => {
  test.each([
    ['*', ['*']],
    ['https://App.example.com', ['https://app.example.com']],
    ['http://a:80,https://b:8443', ['http://a', 'https://b:8443']],
    ['vscode-webview://abc', ['vscode-webview://abc']],
  ])('%j is read', (text, list) => {
    expect(valueOf('SERVICE_HTTP_CORS_ORIGINS', text)).toEqual(list);
  });

  test.each([
    'a.example',
    'https://a/',
    'https://a/x',
    'https://a,',
    ',',
    '*,https://a',
    'https://u@a',
    'null',
    'https://a b',
  ])('%j is refused', (text) => {
    expect(valueOf('SERVICE_HTTP_CORS_ORIGINS', text)).toEqual(REFUSED);
  });
});

describe('allowed hosts', () => {
  test.each([
    ['*', ['*']],
    ['data.example.com', ['data.example.com']],
    ['localhost, 10.0.0.1,[::1],::1', ['localhost', '10.0.0.1', '::1', '::1']],
  ])('%j is read', (text, list) => {
    expect(valueOf('SERVICE_HTTP_ALLOWED_HOSTS', text)).toEqual(list);
  });

  test.each(['localhost:9000', 'http://a', 'a/b', '*,a', '*.example.com', 'a b', ',', '256.0.0.1', 'u@a'])(
    '%j is refused',
    (text) => {
      expect(valueOf('SERVICE_HTTP_ALLOWED_HOSTS', text)).toEqual(REFUSED);
    },
  );
});

describe('credentials', () => {
  test.each([
    ['SERVICE_TSDB_USER', 'a:b'],
    ['SERVICE_TSDB_USER', 'a\nb'],
    ['SERVICE_TSDB_TOKEN', 'a b'],
    ['SERVICE_TSDB_TOKEN', 'ä'],
    ['SERVICE_TSDB_TOKEN', 'a\r\nX-Evil: 1'],
  ])('%s=%j is refused', (variable, text) => {
    expect(valueOf(variable, text)).toEqual(REFUSED);
  });
});
