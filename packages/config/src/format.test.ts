import { rootCertificates } from 'node:tls';
import { parse } from '@iarna/toml';
import { describe, expect, test } from 'vitest';
import { companyOf } from '../test/load-given.ts';
import {
  describeSource,
  formatAddress,
  formatConfig,
  formatHelp,
  formatProblems,
  formatSettingsReference,
  loadConfig,
  type LoadConfigOptions,
  type ReadFile,
} from './index.ts';
import { createServiceNames } from './environment.ts';
import { SECTIONS, SETTING_ROWS, SETTINGS } from './settings.ts';

/** Reads this text as the configuration file, and a certificate for the path in the example of a setting. */
function reading(toml = ''): ReadFile {
  return (path) =>
    Buffer.from(
      [SETTINGS.tsdb, SETTINGS.auth, SETTINGS.scheduler, SETTINGS.traces].some(
        ({ ca_file: { example } }) => example === path,
      )
        ? (rootCertificates[0] ?? '')
        : toml,
    );
}

function load(options: Partial<LoadConfigOptions> = {}) {
  const result = loadConfig({ name: 'service', argv: [], env: {}, homeDir: '', readFile: reading(), ...options });
  if (result.kind !== 'config' && result.kind !== 'print-config') throw new Error(JSON.stringify(result));
  return result;
}

type Nested = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

function valueAt(nested: Nested, section: string, key: string): unknown {
  return nested[section]?.[key];
}

const names = createServiceNames('service');

describe('formatConfig', () => {
  const FULL = {
    SERVICE_HTTP_BIND_ADDRESS: '[::1]:0',
    SERVICE_DATA_DIR: '/d "quoted" \\ ä',
    SERVICE_CACHE_SIZE: '0.125',
    SERVICE_COMPRESSION: 'lz4',
    SERVICE_LOG_LEVEL: 'off',
    SERVICE_HTTP_MAX_ROWS: '9007199254740991',
    SERVICE_HTTP_DEFAULT_FMT: 'json',
    SERVICE_HTTP_COMPRESSION: 'no',
    SERVICE_HTTP_CORS_ORIGINS: 'https://a.example,http://b:81',
    SERVICE_TSDB_HTTP_URL: 'https://db.example.com/base/',
    SERVICE_TSDB_USER: 'ada # no comment',
  };

  test.each([
    ['nothing is set', {}],
    ['much is set', FULL],
  ])('reads back as the same configuration when %s', (_, env) => {
    const first = load({ env, isTerminal: true });
    const again = load({ argv: ['--config', 'x'], readFile: () => Buffer.from(formatConfig(first)) });
    expect(again.config).toEqual(first.config);
  });

  test('names every setting and the source of every value', () => {
    const printed = formatConfig(
      load({
        argv: ['--grpc-port', '7', '--data-dir', '/d', '--config', '/etc/x\n.toml'],
        env: { RUST_LOG: 'debug' },
        readFile: () => Buffer.from('[http]\nmax_rows = 5'),
      }),
    );
    for (const { key } of SETTING_ROWS)
      expect(printed).toMatch(new RegExp(`^(# ${key} is not set|${key} = .* # from .*)$`, 'm'));
    expect(printed.split('\n')).toEqual(
      expect.arrayContaining([
        'grpc_port = 7 # from flag --grpc-port',
        'level = "debug" # from variable RUST_LOG',
        'parquet_path = "/d/cold" # from storage.data_dir',
        'max_rows = 5 # from file "/etc/x\\n.toml", key http.max_rows',
        'cache_size_gb = 1.0 # from default',
        '# http_url is not set',
      ]),
    );
    expect(Object.keys(parse(printed))).toEqual(SECTIONS);
  });

  test('hides secrets', () => {
    const env = { TSDB_HTTP_URL: 'http://db', SERVICE_TSDB_USER: 'u', SERVICE_TSDB_PASSWORD: 'hunter2' };
    const printed = formatConfig(load({ env }));
    expect(printed).toContain('password = "***" # from variable SERVICE_TSDB_PASSWORD');
    expect(printed).not.toContain('hunter2');
    expect(formatConfig(load({ env: { SERVICE_TSDB_TOKEN: 'hunter2' } }))).not.toContain('hunter2');
  });
});

describe('formatHelp', () => {
  const help = formatHelp({ name: 'service' });

  test('fits 80 columns', () => {
    expect(Math.max(...help.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  test.each(SETTING_ROWS)('names $path with flag, variables and default', (row) => {
    const { section, key, setting } = row;
    const part = help.slice(help.indexOf(`\n[${section}]\n`)).split(`\n  ${key}`)[1] ?? '';
    const [head = '', line = ''] = part.split('\n');
    expect(head).toBe(setting.flag === undefined ? '' : `  --${setting.flag} <${setting.type.placeholder}>`);
    const variables = names.variablesOf(row).map(({ name }) => name);
    expect(line.trim()).toMatch(new RegExp(`^${variables.join(', ')}; default: .+$`));
  });

  test('says how to name a file, in the name of the service', () => {
    expect(formatHelp({ name: 'data-frames', command: 'svc serve' })).toMatch(
      /^Usage: svc serve \[flags\]\n[^]*DATA_FRAMES_CONFIG[^]*~\/\.data-frames\/config\.toml[^]*DATA_FRAMES_GRPC_PORT/,
    );
  });
});

describe('formatProblems', () => {
  test('shows source, problem and remedy of each', () => {
    const result = loadConfig({ name: 'service', argv: ['--grpc-port=x', '--hlep'], env: {}, homeDir: '' });
    expect(result.kind === 'problems' && formatProblems(result.problems)).toBe(
      `The configuration has 2 problems:

  flag --hlep
    There is no flag "--hlep".
    Did you mean --help?

  flag --grpc-port
    server.grpc_port is "x", but must be a whole number from 0 to 65535.
    For example: --grpc-port 50052
`,
    );
  });

  test('counts one as one', () => {
    const problem = { source: { kind: 'default' }, message: 'M.', hint: 'H.' } as const;
    expect(formatProblems([problem])).toBe('The configuration has a problem:\n\n  default\n    M.\n    H.\n');
  });
});

describe('formatSettingsReference', () => {
  const reference = formatSettingsReference({ name: 'service' });

  test.each(SETTING_ROWS)('has a row for $path with variables, flag and meaning', (row) => {
    const { section, key, setting } = row;
    const table = reference.slice(reference.indexOf(`### \`[${section}]\``));
    const line = table.split('\n').find((text) => text.startsWith(`| \`${key}\` `)) ?? '';
    for (const { name } of names.variablesOf(row)) expect(line).toContain(`\`${name}\``);
    expect(line.split('|')[3]?.trim()).toBe(setting.flag === undefined ? '' : `\`--${setting.flag}\``);
    expect(line).toContain(setting.description);
    expect(line.split(/(?<!\\)\|/)).toHaveLength(7);
  });

  const [, example = ''] = /```toml\n([^]*?)```/.exec(reference) ?? [];

  test('has an example file that loads without a warning and gives the defaults', () => {
    const { config, warnings } = load({ argv: ['--config', 'x'], readFile: () => Buffer.from(example) });
    expect(config).toEqual(load().config);
    expect(warnings).toEqual([]);
  });

  test('has a valid example for each setting, commented out or not', () => {
    for (const row of SETTING_ROWS) {
      const { section, key } = row;
      const part = example.slice(example.indexOf(`[${section}]`));
      const line = part.split('\n').find((text) => text.replace(/^# /, '').startsWith(`${key} = `)) ?? '';
      const toml = `[${section}]\n${line.replace(/^# /, '')}\n`;
      const { sources } = load({ argv: ['--config', 'x'], env: companyOf(row), readFile: reading(toml) });
      expect(valueAt(sources, section, key)).toEqual({ kind: 'file', path: 'x', key: `${section}.${key}` });
    }
  });
});

describe('rows of the table', () => {
  test.each(SETTING_ROWS)('$path has a sentence, a valid example, and unique names', (row) => {
    const { setting } = row;
    expect(setting.description).toMatch(/^[A-Z].*\.$/);
    const text = setting.type.toText(setting.example);
    const { config } = load({ env: { ...companyOf(row), [names.variablesOf(row)[0]?.name ?? '']: text } });
    expect(valueAt(config, row.section, row.key)).toEqual(setting.example);
  });

  test('share no flag and no variable', () => {
    const flags = SETTING_ROWS.flatMap(({ setting }) => setting.flag ?? []);
    const variables = SETTING_ROWS.flatMap((row) => names.variablesOf(row).map(({ name }) => name));
    expect(new Set(flags).size).toBe(flags.length);
    expect(new Set([...variables, names.fileVariable]).size).toBe(variables.length + 1);
  });
});

test.each([
  [{ host: '127.0.0.1', port: 1 }, '127.0.0.1:1'],
  [{ host: '::1', port: 1 }, '[::1]:1'],
])('formatAddress(%j) is %s', (address, text) => {
  expect(formatAddress(address)).toBe(text);
});

test.each([
  [{ kind: 'flag', name: '--x' } as const, 'flag --x'],
  [{ kind: 'argument', value: 'a"b' } as const, 'argument "a\\"b"'],
  [{ kind: 'variable', name: 'X' } as const, 'variable X'],
  [{ kind: 'file', path: '/x' } as const, 'file /x'],
  [{ kind: 'file', path: '', key: 'a.b\n' } as const, 'file "", key "a.b\\n"'],
  [{ kind: 'file', path: '/\x7f' } as const, 'file "/\\u007f"'],
  [{ kind: 'derived', from: 'storage.data_dir' } as const, 'storage.data_dir'],
  [{ kind: 'default' } as const, 'default'],
])('describeSource(%j) is %s', (source, text) => {
  expect(describeSource(source)).toBe(text);
});
