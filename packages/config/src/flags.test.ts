import { describe, expect, test } from 'vitest';
import { type FlagSpec, loadConfig, parseFlags } from './index.ts';

function load(...argv: string[]) {
  return loadConfig({ name: 'service', argv, env: {}, homeDir: '' });
}

describe('the command line', () => {
  test('of the specification is read', () => {
    expect(load('--grpc-port', '1234', '--data-dir', '/data')).toMatchObject({
      kind: 'config',
      config: { server: { grpc_port: 1234 }, storage: { data_dir: '/data', parquet_path: '/data/cold' } },
    });
  });

  test.each([
    [['--help'], 'help'],
    [['-h'], 'help'],
    [['--grpc-port', 'x', '--nope', '--help'], 'help'],
    [['--version'], 'version'],
    [['-V', '--print-config'], 'version'],
    [['--version', '--help'], 'help'],
    [['--print-config', '--grpc-port=1'], 'print-config'],
    [['--print-config', '--print-config'], 'print-config'],
    [['--print-config', '--grpc-port=x'], 'problems'],
    [['--'], 'config'],
    [[], 'config'],
  ])('%j asks for %s', (argv, kind) => {
    expect(load(...argv).kind).toBe(kind);
  });

  test.each([
    [['--grpc-prot', '1'], '--grpc-prot', 'There is no flag "--grpc-prot".', 'Did you mean --grpc-port?'],
    [['--GRPC_PORT=1'], '--GRPC_PORT', 'There is no flag "--GRPC_PORT".', 'Did you mean --grpc-port?'],
    [['-grpc-port', '1'], '-grpc-port', 'There is no flag "-grpc-port".', 'Did you mean --grpc-port?'],
    [
      ['--server-grpc-port=1'],
      '--server-grpc-port',
      'There is no flag "--server-grpc-port".',
      'Did you mean --grpc-port?',
    ],
    [['--tsdb-http-url=x'], '--tsdb-http-url', 'There is no flag "--tsdb-http-url".', 'Did you mean --tsdb-url?'],
    [['--zzzzzzzz'], '--zzzzzzzz', 'There is no flag "--zzzzzzzz".', '--help lists the flags.'],
    [['--hepl'], '--hepl', 'There is no flag "--hepl".', 'Did you mean --help?'],
    [
      ['--http-max-rows', '5'],
      '--http-max-rows',
      'There is no flag "--http-max-rows".',
      'Did you mean the variable SERVICE_HTTP_MAX_ROWS (http.max_rows has no flag)?',
    ],
    [['--grpc-port'], '--grpc-port', '--grpc-port needs a value.', 'Write --grpc-port <value> or --grpc-port=<value>.'],
    [['--config'], '--config', '--config needs a value.', 'Write --config <value> or --config=<value>.'],
    [['--grpc-port=1', '--grpc-port', '1'], '--grpc-port', '--grpc-port is given more than once.', 'Give it once.'],
    [['--help=yes'], '--help', '--help takes no value.', 'Write --help alone.'],
  ])('%j is a problem', (argv, name, message, hint) => {
    expect(load(...argv)).toMatchObject({
      kind: 'problems',
      problems: [{ source: { kind: 'flag', name }, message, hint }],
    });
  });

  test('a flag after a flag without its value is still read', () => {
    const result = load('--grpc-port', '--log-level', 'loud');
    expect(result.kind === 'problems' && result.problems.map(({ source }) => source)).toEqual([
      { kind: 'flag', name: '--grpc-port' },
      { kind: 'flag', name: '--log-level' },
    ]);
  });

  test.each([
    ['--grpc-port=', 'server.grpc_port is "", but must be a whole number from 0 to 65535.'],
    ['--grpc-port=1=2', 'server.grpc_port is "1=2", but must be a whole number from 0 to 65535.'],
    ['--data-dir=', 'storage.data_dir is "", but must be the path of a directory.'],
  ])('%s is a problem of the value', (flag, message) => {
    expect(load(flag)).toMatchObject({ problems: [{ message }] });
  });

  test('a negative number is a value', () => {
    expect(load('--grpc-port', '-1')).toMatchObject({ problems: [{ value: '"-1"' }] });
  });

  test.each([
    [['serve'], ['serve']],
    [
      ['-', '--grpc-port', '1', ''],
      ['-', ''],
    ],
    [
      ['--', '--grpc-port', 'x'],
      ['--grpc-port', 'x'],
    ],
  ])('%j has arguments that belong to no flag', (argv, values) => {
    const result = load(...argv);
    expect(result.kind === 'problems' && result.problems.map(({ source }) => source)).toEqual(
      values.map((value) => ({ kind: 'argument', value })),
    );
  });

  test('the value after an unknown flag is not shown', () => {
    expect(JSON.stringify(load('--tsdb-password', 'hunter2', '--tsdb-token=hunter2'))).not.toContain('hunter2');
  });
});

const FLAGS: ReadonlyMap<string, FlagSpec> = new Map<string, FlagSpec>([
  ['output', { takesValue: true, short: 'o' }],
  ['param', { takesValue: true, isRepeatable: true }],
  ['force', { takesValue: false, short: 'f' }],
  ['help', { takesValue: false, short: 'h', isRepeatable: true }],
]);

const output = (value: string, rawName = '--output') => ({ kind: 'value', name: 'output', rawName, value });
const param = (value: string) => ({ kind: 'value', name: 'param', rawName: '--param', value });
const force = (rawName = '--force') => ({ kind: 'switch', name: 'force', rawName });
const help = (rawName = '--help') => ({ kind: 'switch', name: 'help', rawName });
const argument = (value: string) => ({ kind: 'argument', value });
const unknown = (rawName: string) => ({ kind: 'unknown', rawName });

describe('a command line', () => {
  test.each([
    [[], []],
    [
      ['a', '', '-'],
      [argument('a'), argument(''), argument('-')],
    ],
    [
      ['--output', 'x', 'a'],
      [output('x'), argument('a')],
    ],
    [['--output=x'], [output('x')]],
    [['--output='], [output('')]],
    [['--output=a=b'], [output('a=b')]],
    [['--output', ''], [output('')]],
    [['--output', '-'], [output('-')]],
    [['--output', '-1'], [output('-1')]],
    [['--output', '-.5'], [output('-.5')]],
    [['--output=-x'], [output('-x')]],
    [['-o', 'x'], [output('x', '-o')]],
    [['-ox'], [output('x', '-o')]],
    [['-o=x'], [output('=x', '-o')]],
    [['-fh'], [force('-f'), help('-h')]],
    [['-fox'], [force('-f'), output('x', '-o')]],
    [
      ['--help', '-h'],
      [help(), help('-h')],
    ],
    [
      ['--param', '1', '--param=2'],
      [param('1'), param('2')],
    ],
    [
      ['--', '--force', '--'],
      [{ kind: 'terminator' }, argument('--force'), argument('--')],
    ],
  ])('%j', (argv, tokens) => {
    expect(parseFlags(argv, FLAGS)).toEqual(tokens);
  });

  test.each([
    [['--output'], [{ kind: 'missing_value', name: 'output', rawName: '--output' }]],
    [['-o'], [{ kind: 'missing_value', name: 'output', rawName: '-o' }]],
    [
      ['--output', '--force'],
      [{ kind: 'missing_value', name: 'output', rawName: '--output' }, force()],
    ],
    [
      ['--output', '--output', 'x'],
      [{ kind: 'missing_value', name: 'output', rawName: '--output' }, output('x')],
    ],
    [
      ['--force=yes', 'a'],
      [{ kind: 'unwanted_value', name: 'force', rawName: '--force' }, argument('a')],
    ],
    [['-f=yes'], [{ kind: 'unwanted_value', name: 'force', rawName: '-f' }]],
    [
      ['-o', 'x', '--output=y', 'a'],
      [output('x', '-o'), { kind: 'repeated', name: 'output', rawName: '--output' }, argument('a')],
    ],
    [['-ff'], [force('-f'), { kind: 'repeated', name: 'force', rawName: '-f' }]],
    [
      ['--nope', 'secret', 'a'],
      [unknown('--nope'), argument('a')],
    ],
    [['--nope=secret'], [unknown('--nope')]],
    [
      ['--nope', '--force'],
      [unknown('--nope'), force()],
    ],
    [['-param', 'secret'], [unknown('-param')]],
    [['-fx=secret'], [unknown('-fx')]],
    [['--Output', 'x'], [unknown('--Output')]],
    [['--constructor'], [unknown('--constructor')]],
    [['-1'], [unknown('-1')]],
  ])('%j has a fault, and the rest is read', (argv, tokens) => {
    expect(parseFlags(argv, FLAGS)).toEqual(tokens);
  });
});
