import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sharedProcess } from './server-process.ts';

const run = promisify(execFile);
const CSV = 'id,name\r\n1,a\r\n2,"b\r\nc"\r\n';

/** Returns a zstd frame with one raw block. */
function zstd(content: string): Uint8Array {
  const bytes = Buffer.from(content);
  return Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x58, (bytes.length << 3) | 1, bytes.length >> 5, 0]),
    bytes,
  ]);
}

const FILES: Readonly<Record<string, string | Uint8Array>> = {
  'trades.csv': CSV,
  'trades.csv.gz': gzipSync(CSV),
  'trades.csv.zst': zstd(CSV),
  'utf16.csv': Buffer.from(`\ufeff${CSV}`, 'utf16le'),
  'bracket.csv': '[id],name\n1,a\n',
  'trades.json': '[{"id":1,"name":"a"},{"id":2,"name":"b"}]',
  'trades.ndjson': '{"id":1,"name":"a"}\n{"id":2,"name":"b"}\n',
  'trades.arrow': tableToIPC(tableFromArrays({ id: new BigInt64Array([1n, 2n]) }), 'file'),
  'trades.arrows': tableToIPC(tableFromArrays({ id: new BigInt64Array([1n, 2n]) }), 'stream'),
  'sheet.xlsx': 'PK\u0003\u0004 xl/workbook.xml',
};

let directory = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-curl-'));
  for (const [name, content] of Object.entries(FILES)) await writeFile(join(directory, name), content);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

describe('curl', () => {
  /** Runs curl, and returns the status and, after success, the rows. */
  async function curl(handle: string, ...args: readonly string[]): Promise<unknown> {
    const server = await sharedProcess();
    const url = `http://127.0.0.1:${server.port}/frames/${handle}`;
    const { stdout } = await run('curl', ['-s', '-w', '\n%{http_code}', ...args, url], { cwd: directory });
    const [, body = '', status] = /^(.*)\n(\d+)$/s.exec(stdout) ?? [];
    if (!status?.startsWith('2')) return [Number(status), (JSON.parse(body) as { error: string }).error];
    return [Number(status), (JSON.parse(body) as { rows: number }).rows];
  }

  test.each(Object.keys(FILES).filter((name) => !/xlsx|utf16|bracket/.test(name)))('-T %s', async (name) => {
    expect(await curl(`t-${name}`, '-T', name)).toEqual([201, 2]);
    expect(await curl(`t-${name}`, '-T', name)).toEqual([200, 2]);
  });

  test('-T of Parquet, as the server exports it', async () => {
    const server = await sharedProcess();
    await curl('source', '-T', 'trades.csv');
    const file = await server.fetch('/exp?handle=source&fmt=parquet');
    await writeFile(join(directory, 'x.parquet'), new Uint8Array(await file.arrayBuffer()));
    expect(await curl('parquet', '-T', 'x.parquet')).toEqual([201, 2]);
  });

  test('-F sends a form, which appends', async () => {
    expect(await curl('form', '-F', 'file=@trades.csv')).toEqual([201, 2]);
    expect(await curl('form', '-F', 'file=@trades.csv.gz')).toEqual([200, 4]);
    expect(await curl('form', '-F', 'a=1', '-F', 'file=@trades.csv')).toEqual([
      400,
      'The form has a field "a" that is not a file.',
    ]);
    expect(await curl('bracket', '-F', 'file=@bracket.csv')).toEqual([201, 1]);
  });

  test('--data-binary declares a form, but is the file; -d removes its line ends', async () => {
    expect(await curl('binary', '-X', 'PUT', '--data-binary', '@trades.csv')).toEqual([201, 2]);
    expect(await curl('binary', '-X', 'PUT', '-d', '@trades.csv')).toEqual([
      415,
      'The body is one line of the type application/x-www-form-urlencoded, and not a CSV file.',
    ]);
  });

  test('Content-Encoding works with every format', { tags: ['slow'] }, async () => {
    for (const coding of ['gzip', 'x-gzip']) {
      const args = ['-H', `Content-Encoding: ${coding}`, '-H', 'Content-Type: text/csv', '-T', 'trades.csv.gz'];
      expect(await curl(`encoded-${coding}`, ...args)).toEqual([201, 2]);
    }
    expect(await curl('zstd?fmt=csv', '-H', 'Content-Encoding: zstd', '-T', 'trades.csv.zst')).toEqual([201, 2]);
  });

  test('an Excel file is refused with a hint', async () => {
    expect(await curl('sheet', '-T', 'sheet.xlsx')).toEqual([
      415,
      'The body is an Excel file (.xlsx), which cannot be read.',
    ]);
  });
});
