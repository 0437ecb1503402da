import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { columnInfo } from '@svc/frames';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readExcerpts } from './describe.ts';
import { describeUpload, prepareUpload } from '../describe-source.ts';
import { createFileChild, type FileChild } from '../../child-link/file-child.ts';

let folder: string;
let engine: FileChild;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-excerpts-'));
  engine = createFileChild({ tempDirectory: folder });
});
afterAll(async () => {
  await engine.close();
  await rm(folder, { recursive: true });
});

const ROWS = 30_000;
const PADDING = 'some text that makes the file long enough'.padEnd(60, '.');
const usual = (row: number): string => `${row},${PADDING}`;

/** A file of two columns, in which some rows are others. */
async function fileOf(others: Readonly<Record<number, string>>, end = '\n'): Promise<string> {
  const path = join(folder, 'rows.csv');
  const lines = Array.from({ length: ROWS }, (_, row) => others[row] ?? usual(row));
  await writeFile(path, `id,note\n${lines.join('\n')}${end}`);
  return path;
}

const FORM = { delimiter: ',', columns: 2 };

async function linesOf(path: string, form = FORM): Promise<string[] | undefined> {
  const excerpts = await readExcerpts(path, form);
  return excerpts && Buffer.from(excerpts).toString().split('\n').slice(0, -1);
}

describe('excerpts', () => {
  test.each(['\n', ''])('are complete lines of the whole file, the last first, if it ends with %j', async (end) => {
    const lines = (await linesOf(await fileOf({}, end))) ?? [];
    const rows = lines.map((line) => Number(line.split(',')[0]));
    expect(lines).toEqual(rows.map(usual));
    expect(rows).toContain(ROWS - 1);
    const perThird = [0, 1, 2].map((i) => rows.filter((row) => Math.floor((3 * row) / ROWS) === i).length);
    expect(Math.min(...perThird)).toBeGreaterThan(100);
  });

  test('of a short file are none', async () => {
    const path = join(folder, 'short.csv');
    await writeFile(path, `id,note\n${usual(1)}\n`);
    expect(await linesOf(path)).toBeUndefined();
  });

  test('leave out places where a line has another number of values', async () => {
    const lines = (await linesOf(await fileOf({ [ROWS - 5]: 'a,b,c' }))) ?? [];
    expect(lines.length).toBeGreaterThan(100);
    expect(lines).not.toContain(usual(ROWS - 1));
  });

  test('of lines longer than an excerpt are none', async () => {
    const path = join(folder, 'long.csv');
    await writeFile(path, `id,note\n${`1,${'x'.repeat(100_000)}\n`.repeat(20)}`);
    expect(await linesOf(path)).toBeUndefined();
  });
});

describe('the types of an upload, before it is written,', () => {
  async function typesOf(path: string): Promise<string[]> {
    const { info } = await describeUpload(engine, await prepareUpload({ kind: 'csv', path, header: true }));
    return info.schema.fields.map((field) => columnInfo(field).type);
  }

  test.each([
    [ROWS - 1, 'x', 'STRING'],
    [ROWS - 1, '1.5', 'DOUBLE'],
    [ROWS - 3, '-1', 'LONG'],
  ])('fit a value near its end: row %i is %s', async (row, value, type) => {
    expect(await typesOf(await fileOf({ [row]: `${value},${PADDING}` }))).toEqual([type, 'STRING']);
  });

  test('are those of all rows if lines in quotes look like other values', async () => {
    const quoted = `7,"${`x,y\n`.repeat(10_000)}"`;
    expect(await typesOf(await fileOf({ [ROWS - 1]: quoted }))).toEqual(['LONG', 'STRING']);
  });
});
