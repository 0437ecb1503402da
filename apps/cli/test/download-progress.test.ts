import { open } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createOutput } from '../src/output/output.ts';
import { copyBody } from '../src/output/print-result.ts';
import { createRowCounter, formatDownload, withDownloadProgress } from '../src/output/progress.ts';
import { createSink } from './run.ts';

describe('the line of a download', () => {
  const STEP = { bytes: 5e6, totalBytes: undefined, rows: undefined, totalRows: undefined, seconds: 2 };

  test.each([
    [{}, '5.0 MB  2.5 MB/s'],
    [{ rows: 40_000 }, '5.0 MB  2.5 MB/s  40.0 k rows  20.0 k rows/s'],
    [{ rows: 999, seconds: 0 }, '5.0 MB  0 B/s  999 rows  0 rows/s'],
    [{ totalBytes: 1e7 }, `${'█'.repeat(15)}${'░'.repeat(15)}  50 %  5.0 MB of 10.0 MB  2.5 MB/s`],
    [{ rows: 1e6, totalRows: 4e6 }, `██${'░'.repeat(9)}  25 %  5.0 MB  2.5 MB/s  1.0 M of 4.0 M rows  500 k rows/s`],
    [{ rows: 0, totalRows: 0 }, '5.0 MB  2.5 MB/s  0 of 0 rows  0 rows/s'],
    [{ rows: 3, totalRows: 2 }, `${'█'.repeat(23)} 100 %  5.0 MB  2.5 MB/s  3 of 2 rows  1 rows/s`],
  ])('with %j is %s', (more, line) => {
    expect(formatDownload({ ...STEP, ...more }, 70)).toBe(line);
  });
});

describe('the rows of', () => {
  test.each([
    ['csv', ['a,b\r\n1,2\r\n3', ',4\r\n'], 2],
    ['csv', ['a\n"x\ny', '\n""\n"\n', 'z\n'], 2],
    ['csv', ['a'], 0],
    ['ndjson', ['{"a":"\\"\\n"}\n{', '}\n'], 2],
    ['arrow', ['\n\n'], undefined],
    ['table', ['\n\n'], undefined],
  ])('%s in the chunks %j are %s', (format, chunks, rows) => {
    const counter = createRowCounter(format);
    expect(chunks.map((chunk) => counter?.count(Buffer.from(chunk))).at(-1)).toBe(rows);
  });
});

/** Downloads CSV in two chunks, 200 ms each, and returns what is drawn and what is written. */
async function download(isFile: boolean, errorWidth: number | undefined): Promise<{ drawn: string; written: string }> {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const output = { ...createSink(), isFile };
  const stderr = createSink(errorWidth);
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('id\r\n1\r\n');
    vi.advanceTimersByTime(200);
    yield Buffer.from('2\r\n');
    vi.advanceTimersByTime(200);
  }
  const response = { headers: new Headers(), body: body() };
  const { signal } = new AbortController();
  await withDownloadProgress({ response, format: 'csv', totalRows: 2, output, stderr, signal }, (chunks) =>
    copyBody(chunks, output),
  );
  vi.advanceTimersByTime(1000);
  return { drawn: stderr.text(), written: output.text() };
}

describe('the progress of rows', () => {
  test('that go to a file is redrawn in place and cleared at the end', async () => {
    expect(await download(true, 48)).toEqual({
      drawn:
        '\r██░░░  50 %  7 B  35 B/s  1 of 2 rows  5 rows/s\r' +
        '\r████ 100 %  10 B  25 B/s  2 of 2 rows  5 rows/s\r' +
        `\r${' '.repeat(47)}\r`,
      written: 'id\r\n1\r\n2\r\n',
    });
  });

  test.each([
    ['that go to a pipe', false, 48],
    ['that go to a file without a terminal', true, undefined],
  ])('%s is not shown', async (_, isFile, errorWidth) => {
    expect(await download(isFile, errorWidth)).toEqual({ drawn: '', written: 'id\r\n1\r\n2\r\n' });
  });
});

test('a redirected output is a file, a pipe is not', async () => {
  const handle = await open(import.meta.filename);
  onTestFinished(() => handle.close());
  expect(createOutput(Object.assign(new PassThrough(), { fd: handle.fd })).isFile).toBe(true);
  expect(createOutput(new PassThrough()).isFile).toBe(false);
  expect(createOutput(Object.assign(new PassThrough(), { fd: 1_000_000 })).isFile).toBe(false);
});
