/** What the grid needs only after a key or a click: one chunk, which is loaded when the page has nothing else to do. */
export { CellSheet } from './CellSheet.tsx';
export { rangeAsTsv } from './clipboard.ts';
export { GoTo } from './GoTo.tsx';
