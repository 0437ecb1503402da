import { PassThrough } from 'node:stream';
import { describe, expect, test, vi } from 'vitest';
import { createOutput } from '../src/output/output.ts';
import { formatBytes, formatProgress, startProgress } from '../src/output/progress.ts';
import { createSink, run } from './run.ts';
import { sendJson, startStandIn } from './stand-in.ts';

describe('bytes', () => {
  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [1999, '1.9 kB'],
    [99_999, '99.9 kB'],
    [123_456, '123 kB'],
    [999_999, '999 kB'],
    [1_000_000, '1.0 MB'],
    [2_500_000_000, '2.5 GB'],
    [12_345e12, '12345 TB'],
  ])('%d are shown as %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });
});

describe('the line', () => {
  test.each([
    [{ bytes: 0, totalBytes: 10, seconds: 0 }, `${'░'.repeat(30)}   0 %  0 B of 10 B  0 B/s`],
    [
      { bytes: 5e6, totalBytes: 1e7, seconds: 2 },
      `${'█'.repeat(15)}${'░'.repeat(15)}  50 %  5.0 MB of 10.0 MB  2.5 MB/s`,
    ],
    [{ bytes: 999, totalBytes: 1000, seconds: 1 }, `${'█'.repeat(29)}░  99 %  999 B of 1.0 kB  999 B/s`],
    [{ bytes: 1000, totalBytes: 1000, seconds: 1 }, '100 %  1.0 kB sent, waiting for the server'],
    [{ bytes: 0, totalBytes: 0, seconds: 1 }, '100 %  0 B sent, waiting for the server'],
    [{ bytes: 3e6, totalBytes: undefined, seconds: 2 }, '3.0 MB  1.5 MB/s'],
  ])('of %j is %s', (step, line) => {
    expect(formatProgress(step, 79)).toBe(line);
  });
});

test.each([
  [60, `${'█'.repeat(12)}${'░'.repeat(13)}  50 %  5.0 MB of 10.0 MB  2.5 MB/s`],
  [37, '█░  50 %  5.0 MB of 10.0 MB  2.5 MB/s'],
  [20, '  50 %  5.0 MB of 10.0 MB  2.5 MB/s'],
])('the bar takes what is left of %d columns', (width, line) => {
  expect(formatProgress({ bytes: 5e6, totalBytes: 1e7, seconds: 2 }, width)).toBe(line);
});

describe('on a terminal', () => {
  async function upload(width: number | undefined, waitMs: number, abort = false): Promise<string> {
    vi.useFakeTimers();
    const sink = createSink(width);
    const controller = new AbortController();
    const progress = startProgress({ output: sink, totalBytes: 10, signal: controller.signal });
    const chunks = progress.track(
      (async function* () {
        yield new Uint8Array(4);
        yield new Uint8Array(6);
      })(),
    );
    await chunks.next();
    await chunks.next();
    vi.advanceTimersByTime(waitMs);
    if (abort) controller.abort();
    else progress.end();
    vi.advanceTimersByTime(10_000);
    progress.end();
    vi.useRealTimers();
    return sink.text();
  }

  test('it is redrawn in place, within the width, and cleared at the end', async () => {
    const bar = `${'█'.repeat(2)}${'░'.repeat(3)}  40 %  4 B of 10 B`;
    expect(await upload(33, 400)).toBe(`\r${bar}  20 B/s\r\r${bar}  10 B/s\r\r${' '.repeat(32)}\r`);
    expect(await upload(33, 200, true)).toBe(`\r${bar}  20 B/s\r\r${' '.repeat(32)}\r`);
  });

  test('a fast upload shows nothing', async () => {
    expect(await upload(80, 100)).toBe('');
  });

  test('nothing is shown elsewhere', async () => {
    expect(await upload(undefined, 10_000)).toBe('');
  });
});

test.each([
  ['nothing elsewhere', undefined, /^$/],
  ['on a terminal', 60, /^\r10 B {2}.*B\/s +\r[^]*\r {59}\rtry: svc query /],
])('svc put draws on the error stream: %s', async (_name, errorWidth, drawn) => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    const { url } = await startStandIn((request, response) => {
      request.resume().on('end', () => {
        vi.advanceTimersByTime(1000);
        sendJson(response, { rows: 1, version: 'v' }, 201);
      });
    });
    const argv = ['put', 't', '-', '--fmt', 'json', '--url', url];
    expect(await run(argv, { stdin: '[{"id":1}]', width: 60, errorWidth })).toEqual({
      code: 0,
      stdout: 't: 1 row, version v (new)\n',
      stderr: expect.stringMatching(drawn),
    });
  } finally {
    vi.useRealTimers();
  }
});

test.each([
  [{}, undefined],
  [{ columns: 60 }, undefined],
  [{ isTTY: true, columns: 60 }, 60],
  [{ isTTY: true, columns: 0 }, 80],
])('a stream with %j has %s columns', (terminal, width) => {
  expect(createOutput(Object.assign(new PassThrough(), terminal)).width).toBe(width);
});
