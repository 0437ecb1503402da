/**
 * The JSON table of `/exec`, in blocks of rows.
 *
 * ```ts
 * import { streamFromTable } from '@svc/frames';
 * import { encodeRowBlocks } from '@svc/frames/json';
 * import { tableFromArrays } from 'apache-arrow';
 *
 * const frame = streamFromTable(tableFromArrays({ id: [1, 2] }));
 * await encodeRowBlocks(frame, { query: 'ids', quoteLargeNum: false, blockRows: 1024, maxBlockBytes: 65_536 });
 * ```
 */
export { encodeRowBlocks, jsonTableOf, type RowBlock } from '../encode/row-formats.ts';
