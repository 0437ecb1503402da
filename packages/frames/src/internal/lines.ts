/**
 * The line protocol of InfluxDB.
 *
 * ```ts
 * import { isLinePrecision } from '@svc/frames/lines';
 *
 * isLinePrecision('ms'); // true
 * ```
 */
export { fitLines } from '../decode/lines/fit-lines.ts';
export { createLineDecoder } from '../decode/lines/line-decoder.ts';
export { COLUMN_BYTES, type LineTable } from '../decode/lines/line-table.ts';
export { isLinePrecision, LINE_PRECISIONS, LineError } from '../decode/lines/line-tokens.ts';
