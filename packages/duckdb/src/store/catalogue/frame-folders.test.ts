import { expect, test } from 'vitest';
import { folderOfHandle, handleOfFolder } from './frame-folders.ts';

test.each([
  ['trades', 'trades'],
  ['Trades.2024', 'trades.2024'],
  // A file of this name is a frame `trades`.
  ['trades.csv', 'trades.csv@'],
  ['Trades.CSV.gz', 'trades.csv.gz@'],
  ['csv', 'csv'],
  ['a.unfinished', 'a.unfinished@'],
])('the handle %s has the folder %s', (handle, folder) => {
  expect(folderOfHandle(handle)).toBe(folder);
  expect(handleOfFolder(folder)).toBe(handle.toLowerCase());
});

test.each(['Trades', 'trades.csv', 'trades@', '.tmp-1', 'a b', '', '@'])('no frame has the folder %j', (folder) => {
  expect(handleOfFolder(folder)).toBeUndefined();
});
