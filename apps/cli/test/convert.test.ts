import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { rowsAsJson } from '../src/output/print-result.ts';
import { run } from './run.ts';

const NDJSON = '{"id":9007199254740993,"s":"é,\\n","l":[1,null]}\n{"id":2,"s":null,"l":null}\n';

let folder: string;
let input: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-convert-'));
  input = join(folder, 'in.ndjson');
  await writeFile(input, NDJSON);
});

afterEach(() => rm(folder, { recursive: true }));

/** A zstd frame of one raw block: Node 20 does not compress with zstd. */
function zstdOf(text: string): Buffer {
  const header = [0x28, 0xb5, 0x2f, 0xfd, 0x20, text.length, (text.length << 3) | 1, 0, 0];
  return Buffer.concat([Buffer.from(header), Buffer.from(text)]);
}

describe('svc convert', () => {
  test.each(['json', 'arrows', 'parquet', 'jsonl'])(
    'to .%s and back keeps every value',
    { tags: ['slow'] },
    async (extension) => {
      const there = join(folder, `there.${extension}`);
      expect(await run(['convert', input, there])).toEqual({ code: 0, stdout: '', stderr: '' });
      expect(await run(['convert', there, '-', '--to', 'ndjson'])).toEqual({ code: 0, stdout: NDJSON, stderr: '' });
      expect((await readdir(folder)).toSorted()).toEqual(['in.ndjson', `there.${extension}`]);
    },
  );

  test('from standard input to standard output, with CSV options', { tags: ['slow'] }, async () => {
    const argv = ['convert', '-', '-', '--from', 'csv', '--to', 'json', '--header', 'false', '--columns', 'a:STRING,b'];
    expect((await run(argv, { stdin: '1,2\n3,4\n' })).stdout).toBe('[{"a":"1","b":2},\n{"a":"3","b":4}]\n');
  });

  test('CSV options are passed on, those that are repeatable more than once', { tags: ['slow'] }, async () => {
    const file = join(folder, 'x.csv');
    await writeFile(file, Buffer.from('Report\nä;b;c\nNA;-;31/1/2024\n1;é;-\n', 'latin1'));
    const flags = ['--encoding', 'latin-1', '--skip', '1', '--null', 'NA', '--null', '-', '--dateformat', '%d/%m/%Y'];
    expect(await run(['convert', file, '-', '--to', 'ndjson', ...flags])).toMatchObject({
      code: 0,
      stdout: '{"ä":null,"b":null,"c":"2024-01-31T00:00:00.000Z"}\n{"ä":1,"b":"é","c":null}\n',
    });
  });

  test.each([
    ['in.tsv.gz', gzipSync('id\tname, short\n1\ta\n'), '{"id":1,"name, short":"a"}\n'],
    ['in.ndjson.zst', zstdOf('{"id":1}\n'), '{"id":1}\n'],
  ])('reads %s', async (name, bytes, expected) => {
    await writeFile(join(folder, name), bytes);
    expect(await run(['convert', join(folder, name), '-', '--to', 'ndjson'])).toEqual({
      code: 0,
      stdout: expected,
      stderr: '',
    });
  });

  test('names a file that is not compressed as its name says', async () => {
    await writeFile(join(folder, 'x.csv.gz'), 'id\n1\n');
    expect(await run(['convert', join(folder, 'x.csv.gz'), '-', '--to', 'ndjson'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^error: .*gzip.*\nhint: /),
    });
  });

  test('columns of NDJSON can be declared, but no CSV options apply', { tags: ['slow'] }, async () => {
    const argv = ['convert', '-', '-', '--from', 'ndjson', '--to', 'ndjson'];
    expect((await run([...argv, '--columns', 'a:DATE,b'], { stdin: '{"a":"2024-01-02","b":1}\n' })).stdout).toBe(
      '{"a":"2024-01-02T00:00:00.000Z","b":1}\n',
    );
    expect((await run([...argv, '--columns', 'a', '--skip', '1'])).stderr).toBe(
      'error: --skip applies to CSV only, and the format is ndjson.\nhint: Leave it out.\n',
    );
    expect((await run(['convert', 'x.parquet', '-', '--to', 'csv', '--columns', 'a'])).stderr).toBe(
      'error: --columns applies to CSV, JSON and NDJSON only, and the format is parquet.\nhint: Leave it out.\n',
    );
  });

  test('to .arrow is an IPC file, which begins and ends with its magic', { tags: ['slow'] }, async () => {
    await run(['convert', input, join(folder, 'x.arrow')]);
    const bytes = await readFile(join(folder, 'x.arrow'));
    expect([bytes.toString('latin1', 0, 6), bytes.toString('latin1', bytes.length - 6)]).toEqual(['ARROW1', 'ARROW1']);
    expect(tableFromIPC(bytes).numRows).toBe(2);
  });

  test('a flag for the format wins over the name', { tags: ['slow'] }, async () => {
    await run(['convert', input, join(folder, 'x.feather'), '--to', 'arrow']);
    expect(tableFromIPC(await readFile(join(folder, 'x.feather'))).numRows).toBe(2);
  });

  test('replaces a file only with --force, and keeps it if the input is invalid', { tags: ['slow'] }, async () => {
    const there = join(folder, 'x.csv');
    await writeFile(there, 'old');
    expect(await run(['convert', input, there])).toEqual({
      code: 2,
      stdout: '',
      stderr: `error: ${JSON.stringify(there)} already exists.\nhint: Choose another name, or replace it with --force.\n`,
    });
    await writeFile(join(folder, 'bad.json'), '[{"id":1},');
    expect(await run(['convert', join(folder, 'bad.json'), there, '--force'])).toMatchObject({ code: 1, stdout: '' });
    expect(await readFile(there, 'utf8')).toBe('old');
    expect(await run(['convert', input, there, '-f'])).toMatchObject({ code: 0 });
    expect(await readFile(there, 'utf8')).toBe('id,s,l\r\n9007199254740993,"é,\n","[1,null]"\r\n2,,\r\n');
    expect((await readdir(folder)).toSorted()).toEqual(['bad.json', 'in.ndjson', 'x.csv']);
  });

  test.each([
    [['x.txt', 'y.csv'], 'Cannot tell the format from the name "x.txt".', 'Use --from json or --from ndjson'],
    [['-', 'y.csv'], 'Cannot tell the format from the name "-".', 'Use --from json'],
    [['x.csv', 'y.txt'], 'Cannot tell an output format from the name "y.txt".', 'Use --to json or --to ndjson'],
    [['x.csv', '-'], 'Cannot tell an output format from the name "-".', 'Use --to json'],
    [['x.csv', 'y.csv', '--to', 'xlsx'], '--to "xlsx" is not an output format.', 'Use --to json'],
    [['x.csv', 'y.csv', '--from', 'xlsx'], '--from "xlsx" is not an input format.', 'Use --from json'],
    [['no-such.csv', 'y.csv'], '"no-such.csv" cannot be read: there is no such file.', 'Check the name'],
    [['x.csv'], 'svc convert needs <new|->.', 'Usage: svc convert <file|-> <new|-> [flags]'],
  ])('%j is wrong usage', async (words, message, hint) => {
    const { code, stdout, stderr } = await run(['convert', ...words]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`error: ${message}`);
    expect(stderr).toContain(`hint: ${hint}`);
  });

  test('a directory is not an output file, and Parquet is not for a terminal', async () => {
    await mkdir(join(folder, 'x.csv'));
    expect((await run(['convert', input, join(folder, 'x.csv')])).stderr).toMatch(
      /already exists\.\nhint: Name a file\.\n$/,
    );
    expect((await run(['convert', input, '-', '--to', 'parquet'], { width: 80 })).stderr).toMatch(
      /^error: Parquet is a binary format and cannot be shown on a terminal\./,
    );
  });
});

test.each([
  [[], '[]\n'],
  [['{}\n'], '[{}]\n'],
  [['{"a":"x"}\n{', '}\n', '{}', '\n', '', '{}\n'], '[{"a":"x"},\n{},\n{},\n{}]\n'],
  [['{"a":"é\\n"}\n'], '[{"a":"é\\n"}]\n'],
])('rows in the chunks %j are the array %j', async (chunks, expected) => {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield Buffer.from(chunk);
  }
  const parts: Uint8Array[] = [];
  for await (const part of rowsAsJson(bytes())) parts.push(part);
  expect(Buffer.concat(parts).toString()).toBe(expected);
});
