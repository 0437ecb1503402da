import { describe, expect, test } from 'vitest';
import { createApi, type FrameInfo } from '../api/api.ts';
import { faultOf, optionsFor, uploadOf } from '../api/upload.ts';
import { createUploads, type UploadJob } from './uploads.ts';

describe('the options of a file', () => {
  test.each([
    ['trades.csv', 'trades', 'csv'],
    ['Trades of May (2).CSV', 'Trades-of-May-2-', 'csv'],
    ['a.b.parquet', 'a.b', 'parquet'],
    ['log.ndjson.gz', 'log', 'ndjson'],
    ['rows.jsonl.zst', 'rows', 'ndjson'],
    ['data.feather', 'data', 'arrow'],
    ['_x', 'x', ''],
    ['größe.csv', 'gr-e', 'csv'],
    ['日本.csv', 'data', 'csv'],
    ['data.bin', 'data.bin', ''],
  ])('of %s are the name %s and the format %j', (fileName, handle, format) => {
    expect(optionsFor(fileName)).toMatchObject({ handle, format });
    expect(faultOf(optionsFor(fileName), { size: 1 }, 1)).toBeUndefined();
  });

  test.each([
    [{ handle: '' }, 'A name has'],
    [{ handle: 'a b' }, 'A name has'],
    [{ ttl: '0' }, 'The time to live'],
    [{ ttl: '1.5' }, 'The time to live'],
    [{ skip: '-1' }, 'The lines to skip'],
  ])('are refused: %j', (patch, sentence) => {
    expect(faultOf({ ...optionsFor('a.csv'), ...patch }, { size: 1 }, 10)).toContain(sentence);
  });

  test('are refused if the file is too large', () => {
    expect(faultOf(optionsFor('a.csv'), { size: 11 }, 10)).toContain('larger than the 10 bytes');
  });

  test('become parameters, without those that the format does not have', () => {
    const file = new File(['x'], 'a.csv.gz');
    const options = { ...optionsFor(file.name), ttl: '60', delimiter: ';', columns: ' id:LONG ' };
    expect(uploadOf(file, options)).toMatchObject({
      handle: 'a',
      encoding: 'gzip',
      params: { fmt: 'csv', ttl: '60', delimiter: ';', columns: 'id:LONG' },
    });
    expect(uploadOf(file, { ...options, format: 'parquet' }).params).toEqual({ fmt: 'parquet', ttl: '60' });
    expect(uploadOf(file, { ...options, format: 'json', mode: 'append' }).params).toEqual({
      fmt: 'json',
      columns: 'id:LONG',
    });
  });
});

describe('uploads', () => {
  const api = createApi(new URL('http://svc.test/'), { answered() {}, gone() {}, unauthenticated() {} }, fetch);
  const upload = uploadOf(new File(['12345678'], 'a.csv'), optionsFor('a.csv'));
  const frame = { handle: 'a', rows: 1 } as FrameInfo;

  /** Starts an upload whose progress and end the test decides. */
  function start() {
    const ended: UploadJob[] = [];
    const sends: {
      sent: (bytes: number) => void;
      resolve: (frame: FrameInfo) => void;
      reject: (error: Error) => void;
    }[] = [];
    const uploads = createUploads(
      api,
      (job) => ended.push(job),
      (_, __, { sent, signal }) =>
        new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
          sends.push({ sent, resolve, reject });
        }),
    );
    uploads.start(upload);
    return { uploads, ended, sends, state: () => uploads.jobs.value.map(({ state, sentBytes }) => [state, sentBytes]) };
  }

  test('show what is sent, then that the server stores it, then the frame', async () => {
    const { uploads, ended, sends, state } = start();
    expect(state()).toEqual([['sending', 0]]);
    sends[0]?.sent(3);
    expect(state()).toEqual([['sending', 3]]);
    sends[0]?.sent(8);
    expect(state()).toEqual([['storing', 8]]);
    sends[0]?.resolve(frame);
    await expect.poll(() => ended.length).toBe(1);
    expect(uploads.jobs.value[0]).toMatchObject({ state: 'done', frame });
  });

  test('stay in the list when they fail, and can be sent again', async () => {
    const { uploads, ended, sends, state } = start();
    sends[0]?.reject(new Error('no'));
    await expect.poll(() => ended.length).toBe(1);
    expect(uploads.jobs.value[0]).toMatchObject({ state: 'failed', error: { message: 'no' } });
    uploads.retry(uploads.jobs.value[0]?.id ?? '');
    expect(state()).toEqual([['sending', 0]]);
  });

  test('can be cancelled, but not be dismissed while they run', async () => {
    const { uploads, ended, state } = start();
    const id = uploads.jobs.value[0]?.id ?? '';
    uploads.dismiss(id);
    expect(state()).toEqual([['sending', 0]]);
    uploads.cancel(id);
    await expect.poll(() => ended.length).toBe(1);
    expect(state()).toEqual([['cancelled', 0]]);
    uploads.dismiss(id);
    expect(state()).toEqual([]);
  });
});
