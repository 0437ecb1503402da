import { open, writeFile } from 'node:fs/promises';
import { longFrame, readRows } from '@svc/frames/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { footerOf } from '../child/files/checksums.ts';
import { layoutOf } from '../child/files/parquet-layout.ts';
import { createFilesFixture, type FilesFixture } from '../testing/files-fixture.ts';
import { readParquetFooter } from './parquet/footer.ts';
import { estimateSize, LONG_FRAME_ROWS, rowGroupOption } from './row-groups.ts';

let fixture: FilesFixture;
beforeAll(async () => {
  fixture = await createFilesFixture();
});
afterAll(() => fixture.close());

describe('row groups', () => {
  test.each([
    ['few rows', 1000, 0, 20_480],
    ['an unknown number of rows', 0, 0, 20_480],
    ['many rows', LONG_FRAME_ROWS, 8, 122_880],
    ['very many rows', 64_000_000, 8, 245_760],
    ['many wide rows', LONG_FRAME_ROWS, 1024, 32_768],
    ['few wide rows', 1000, 16 * 1024, 2048],
    ['rows that are larger than a group should be', 1000, 1e9, 1],
  ])('of %s', (_name, rows, bytesPerRow, groupRows) => {
    expect(rowGroupOption({ rows, bytesPerRow })).toBe(`ROW_GROUP_SIZE ${groupRows}`);
  });

  test('grow with a stream, whose rows stay in order', { tags: ['slow'] }, async () => {
    const path = fixture.path();
    const rows = LONG_FRAME_ROWS + 300_000;
    const { rows: written } = await fixture.files.write(path, longFrame(rows), { compression: 'zstd' });
    const { groupRows } = layoutOf(await footerOf(path));
    const short = groupRows.findIndex((count) => count > 20_480);
    const first = groupRows.slice(0, short).reduce((sum, count) => sum + count, 0);
    expect([written, first >= LONG_FRAME_ROWS, first < LONG_FRAME_ROWS + 65_536]).toEqual([rows, true, true]);
    expect(groupRows.slice(short, -1).every((count) => count === 122_880)).toBe(true);
    const source = { kind: 'parquet', path, isOwn: true } as const;
    const info = await fixture.describe(source);
    expect(info.rows).toBe(rows);
    for (const offset of [0, first - 2, first + 122_878, rows - 4]) {
      const ids = await readRows(fixture.files.read(source, info, { offset, limit: 4 }));
      expect(ids.flat()).toEqual([0, 1, 2, 3].map((i) => BigInt(offset + i)));
    }
    let next = 0;
    for await (const batch of fixture.files.read(source, info).batches) {
      const ids = batch.getChildAt(0)!.toArray() as BigInt64Array;
      expect([ids[0], ids.at(-1)]).toEqual([BigInt(next), BigInt(next + batch.numRows - 1)]);
      next += batch.numRows;
    }
    expect(next).toBe(rows);
  });
});

describe('the estimated size of an upload', () => {
  test('of a short CSV file is not measured', async () => {
    const path = `${fixture.path()}.csv`;
    await writeFile(path, 'a,b\n1,2\n');
    expect(await estimateSize({ source: { kind: 'csv', path, delimiter: ',' } })).toEqual({ rows: 0, bytesPerRow: 0 });
  });

  test.each([
    ['narrow', '123456,89\n', 100, 10, 122_880],
    ['wide', `${'x'.repeat(4095)}\n`, 24, 1638, 20_480],
  ])(
    'of a long CSV file follows its first lines, if they are %s',
    async (_name, line, hundredThousands, bytes, group) => {
      const path = `${fixture.path()}.csv`;
      await writeFile(path, line.repeat(Math.ceil(65_536 / line.length)));
      // A sparse file, which takes no space.
      const file = await open(path, 'r+');
      await file.truncate(hundredThousands * 100_000 * line.length);
      await file.close();
      const size = await estimateSize({ source: { kind: 'csv', path, delimiter: ',' } });
      expect([Math.round(size.rows / 1e5), Math.round(size.bytesPerRow)]).toEqual([hundredThousands, bytes]);
      expect(rowGroupOption(size)).toBe(`ROW_GROUP_SIZE ${group}`);
    },
  );

  test('of a Parquet file has the rows in its footer', async () => {
    const path = fixture.path();
    await fixture.files.write(path, longFrame(70_000), { compression: 'none' });
    const source = { kind: 'parquet', path } as const;
    const size = await estimateSize({ source, footer: await readParquetFooter(path) });
    expect(size).toEqual({ rows: 70_000, bytesPerRow: 0 });
  });
});
