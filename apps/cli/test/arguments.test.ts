import { type Setting, SETTINGS } from '@svc/config';
import { describe, expect, test } from 'vitest';
import { sqlCaret } from '../src/client/request-errors.ts';
import { COMMANDS } from '../src/commands/commands.ts';
import { EXIT } from '../src/errors.ts';
import { run } from './run.ts';

describe('help', () => {
  const asked = COMMANDS.flatMap(({ name }) => [[[name, '--help']], [[name, '-h']], [['help', name]]]);

  test.each([
    ...asked,
    [['--help']],
    [['-h']],
    [['help']],
    [['help', '--help']],
    [['help', 'exit-codes']],
    [['help', 'formats']],
    [['help', 'csv']],
  ])('svc %j fits a screen of 80 by 24', async (argv) => {
    const { code, stdout, stderr } = await run(argv);
    const lines = stdout.trimEnd().split('\n');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(lines[0]).toMatch(/^Usage: svc |^Exit codes of svc:$|^Formats of files |^Flags for files in CSV/);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.length).toBeLessThanOrEqual(24);
  });

  test.each(COMMANDS.map(({ name }) => [name]))('of %s names each argument once', async (name) => {
    const [usage = ''] = (await run([name, '--help'])).stdout.split('\n');
    const words = usage.split(' ');
    expect(words.filter((word, at) => words.indexOf(word) !== at)).toEqual([]);
  });

  test('of doctor names the cluster', async () => {
    expect((await run(['doctor', '--help'])).stdout).toContain('the cluster');
  });

  test('wins over other errors on the line', async () => {
    expect(await run(['put', '--help', 'too', 'many', 'words'])).toMatchObject({ code: 0 });
  });

  test('of exit codes names each of them', async () => {
    const { stdout } = await run(['help', 'exit-codes']);
    expect(Object.values(EXIT).filter((code) => !stdout.includes(`\n  ${code} `))).toEqual([]);
  });

  test('of settings names each of them', async () => {
    const { stdout } = await run(['help', 'settings']);
    const keys = Object.values(SETTINGS).flatMap((section) => Object.keys(section));
    expect(keys.filter((key) => !stdout.includes(`\n  ${key}`))).toEqual([]);
  });

  test('of serve names every flag of the server', async () => {
    const { stdout } = await run(['serve', '--help']);
    const flags = Object.values(SETTINGS).flatMap((section) => Object.values<Setting>(section).map(({ flag }) => flag));
    expect(flags.filter((flag) => flag !== undefined && !stdout.includes(`--${flag} <`))).toEqual([]);
  });

  test('of query says what the database cannot write', async () => {
    expect((await run(['query', '--help'])).stdout).toMatch(/database writes JSON and CSV only/);
  });

  test('names every command', async () => {
    const { stdout } = await run(['--help']);
    expect(COMMANDS.filter(({ name }) => !stdout.includes(`\n  ${name} `))).toEqual([]);
  });

  test('goes to standard error if no command is given', async () => {
    expect(await run([])).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Usage: svc') });
  });
});

test('--version prints the version', async () => {
  expect(await run(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
});

describe('wrong usage ends with 2, a sentence and a hint', () => {
  test.each([
    [['pong'], 'svc has no command "pong".', 'Did you mean svc ping?'],
    [['exterminate'], 'svc has no command "exterminate".', 'svc --help lists the commands.'],
    [['--versoin'], 'svc has no flag "--versoin".', 'Did you mean svc --version?'],
    [['--url', 'http://x'], 'svc itself has no flag "--url".', 'Put the flags of a command after its name'],
    [['get', 't', '--limt', '3'], 'svc get has no flag "--limt".', 'Did you mean --limit?'],
    [['get', 't', '-z'], 'svc get has no flag "-z".', 'put -- before'],
    [['get', 't', '--constructor'], 'svc get has no flag "--constructor".', 'lists its flags'],
    [['hlep'], 'svc has no command "hlep".', 'Did you mean svc help?'],
    [['help', 'exit-code'], 'There is no help on "exit-code".', 'Did you mean svc help exit-codes?'],
    [['help', 'weather'], 'There is no help on "weather".', 'svc --help lists the commands and topics.'],
    [['help', 'get', 'x'], 'There is no help on "get x".', 'Did you mean svc help get?'],
    [['get', 't', '-o'], '-o needs a value.', 'Write -o <file>.'],
    [['get', 't', '--csv', '--arrow'], '--csv and --arrow cannot be combined.', 'Give one of them.'],
    [
      ['get', 't', '-o', 'x.txt'],
      'Cannot tell an output format from the name "x.txt".',
      'Use --json or --ndjson or --csv',
    ],
    [['query', 'x', '--output=x.arrow'], '"x.arrow" names an Arrow IPC file', 'Call it "x.arrows", or use'],
    [['query', 'x', '--engine', 'tsdb', '-o', 'x.parquet'], 'does not write parquet.', 'Use --engine local to query'],
    [['query', 'x', '--engine', 'spark'], 'There is no engine "spark".', 'Use --engine local for the frames'],
    [['query', 'x', '--engine', 'lcoal'], 'There is no engine "lcoal".', 'Did you mean --engine local?'],
    [['query', 'x', '--ttl', '9'], '--ttl needs --keep.', 'Name the frame: --keep <handle>.'],
    [['query', 'x', '--keep', 'y', '--csv'], '--keep and --csv cannot be combined.', 'svc get y does.'],
    [['query', 'x', '--keep', 'y', '-o', 'y.csv'], '--keep and -o cannot be combined.', 'svc get y does.'],
    [['query', 'x', '--keep', '..'], '".." is not a valid handle.', 'A handle has 1 to 128'],
    [
      ['query', './data', 'x', '--engine', 'tsdb'],
      'A local directory has no time-series database; use --url.',
      'Leave out --engine tsdb',
    ],
    [
      ['query', './data', 'x', '--engine', 'scheduler'],
      'A local directory has no cluster; use --url.',
      'Leave out --engine scheduler',
    ],
    [['query', 'x', '--param', 'BTC'], '--param "BTC" is not JSON.', '--param \'"BTC"\'.'],
    [['query', 'x', '--param', '[1]'], '--param "[1]" is an array or an object', '--param 1 --param 2.'],
    [['query', 'x', '--param', '1e400'], '--param "1e400" is outside the range of DOUBLE.', 'cast it in the SQL.'],
    [['query', 'x', '--file', 'x.sql'], 'The SQL is given both as a file and as an argument.', 'Give one of them.'],
    [['query', ''], 'There is no SQL.', 'on standard input.'],
    [['query', './data', ' \n'], 'There is no SQL.', 'on standard input.'],
    [['query', '', '--keep', 'x'], 'There is no SQL.', 'on standard input.'],
    [['query'], 'There is no SQL.', 'on standard input.'],
    [['query', '--file', 'no.sql'], '"no.sql" cannot be read: there is no such file.', 'Check the name'],
    [['query', './no/such', 'x'], 'The frames in "./no/such" cannot be opened', 'svc put creates one.'],
    [['drop'], 'svc drop needs <handle>...', 'Usage: svc drop [directory] <handle>... [flags]'],
    [['drop', 'a', '.'], '"." is not a valid handle.', 'A handle has 1 to 128'],
    [['describe', ''], '"" is not a valid handle.', 'A handle has 1 to 128'],
    [['completion', 'tcsh'], 'There is no completion for the shell "tcsh".', 'Write svc completion bash, svc'],
    [['get'], 'svc get needs <handle>.', 'Usage: svc get [directory] <handle> [flags]'],
    [['put'], 'svc put needs <file|->.', 'Usage: svc put [directory] [handle] <file|-> [flags]'],
    [['put', 't'], 'Cannot tell the format from the name "t".', 'Use --fmt json or --fmt ndjson'],
    [['put', '-', '--fmt', 'csv'], 'Standard input has no name.', 'Give a handle before it: svc put trades -.'],
    [['put', '日本.csv'], 'No handle can be made from the name "日本.csv".', "svc put trades '日本.csv'."],
    [['put', 't', 'x', '--fmt', 'parqet'], '--fmt "parqet" is not an input format.', 'Did you mean --fmt parquet?'],
    [['get', 't', '-o', 'x.csv.gz'], '"x.csv.gz" is not a name for output: svc does not compress', 'ends with .csv,'],
    [['query', 'x', '-o', 'x.tsv'], '"x.tsv" is not a name for output: svc writes CSV with commas.', 'ends with .csv,'],
    [['query', 'select', '1'], 'svc query does not take the argument "1".', 'quote an argument'],
    [['get', 't', '--limit'], '--limit needs a value.', 'Write --limit <rows>.'],
    [['get', 't', '--limit', '--json'], '--limit needs a value.', 'Write --limit <rows>.'],
    [['get', 't', '--json=yes'], '--json takes no value.', 'Write --json alone.'],
    [['get', 't', '--limit', '1', '--limit=2'], '--limit is given more than once.', 'Give it once.'],
    [['ping', '--url', 'localhost:9000'], 'which is not an http or https URL.', 'Did you mean http://localhost:9000?'],
    [['ping', '--url', 'ftp://x'], '--url is "ftp://x", which is not an http or https URL.', 'Write it as http://'],
    [['ping', '--url='], '--url is "", which is not an http or https URL.', 'Write it as http://'],
    [['ping', '--url', 'http://h/?a=1'], 'with a query or a fragment.', 'Write it as http://'],
    [['drop', '..'], 'svc drop needs <handle>...', 'Usage: svc drop [directory] <handle>... [flags]'],
    [['put', '', 'x.json'], '"" is not a valid handle.', 'A handle has 1 to 128'],
    [['put', 'x.xlsx'], '"x.xlsx" is a spreadsheet, which svc does not read.', 'Save the sheet as CSV in UTF-8'],
    [
      ['put', 't', 'x.txt'],
      'Cannot tell the format from the name "x.txt".',
      'Use --fmt json or --fmt ndjson or --fmt csv or --fmt arrow',
    ],
    [
      ['put', 't', '-'],
      'Cannot tell the format from the name "-".',
      'Use --fmt json or --fmt ndjson or --fmt csv or --fmt arrow',
    ],
    [
      ['put', 't', '-', '--fmt', 'xlsx'],
      '--fmt "xlsx" is not an input format',
      'Use --fmt json or --fmt ndjson or --fmt csv or --fmt arrow',
    ],
    [
      ['put', 't', 'x.json', '--ttl', '1.5'],
      '--ttl "1.5" is not a positive whole number of seconds',
      'Write --ttl 3600',
    ],
    [['put', 't', 'x.json', '--ttl', '-1'], '--ttl "-1" is not a positive whole number of seconds', 'Write --ttl 3600'],
  ])('svc %j', async (argv, message, hint) => {
    const { code, stdout, stderr } = await run(argv);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr.split('\n')).toEqual([
      expect.stringMatching(/^error: /) && expect.stringContaining(message),
      expect.stringContaining(`hint: `) && expect.stringContaining(hint),
      '',
    ]);
  });

  test('a password in a URL is not repeated', async () => {
    const { code, stderr } = await run(['ping', '--url', 'http://me:hunter2@127.0.0.1:9']);
    expect(code).toBe(2);
    expect(stderr).toContain('The URL of --url contains a user name or a password.');
    expect(stderr).not.toContain('hunter2');
  });

  test('a file that is missing or a directory', async () => {
    expect(await run(['put', 't', 'no/such.json'])).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'error: "no/such.json" cannot be read: there is no such file.\nhint: Check the name and the current directory.\n',
    });
    expect(await run(['put', 't', import.meta.dirname, '--fmt', 'json'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is a directory.\nhint: Name a file.\n'),
    });
  });
});

describe('the caret', () => {
  test.each([
    ['select nosuch', 7, 80, ['  select nosuch', '         ^']],
    ['select', 6, 80, ['  select', '        ^']],
    ['select\n\tfoo(1)\nfrom t', 8, 80, ['  \\tfoo(1)', '    ^']],
    ["select '日本' x", 12, 80, ["  select '日本' x", '                ^']],
    [
      `${'a'.repeat(100)}b${'c'.repeat(100)}`,
      100,
      42,
      [`  …${'a'.repeat(19)}b${'c'.repeat(18)}…`, `${' '.repeat(22)}^`],
    ],
    ['select', 7, 80, []],
    ['select', -1, 80, []],
    ['select', Number.NaN, 80, []],
    ['  ', 0, 80, []],
  ])('%j at %d in %d columns', (sql, position, width, lines) => {
    expect(sqlCaret(sql, position, width)).toEqual(lines);
  });
});
