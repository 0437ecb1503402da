import { stat } from 'node:fs/promises';
import { readStart } from '@svc/objects/internal';
import { LINE_FEED } from './csv/text.ts';
import { groupRowsOption, type WriteSegments } from '../wire/requests.ts';
import type { PreparedUpload } from './describe-source.ts';

/** From this many rows on, a frame is long. Its footer would cost more than its rows if its row groups were short. */
export const LONG_FRAME_ROWS = 2_000_000;
/** The rows of a row group in a short frame. */
const SHORT_GROUP_ROWS = 20_480;
/** Row groups by the rows of a frame: small enough to read a few rows fast, and few enough for a short footer. */
const GROUP_ROWS = [
  { from: 0, groupRows: SHORT_GROUP_ROWS },
  { from: LONG_FRAME_ROWS, groupRows: 122_880 },
  { from: 64_000_000, groupRows: 245_760 },
] as const;
/** DuckDB buffers a row group in memory, so wide rows make smaller groups. */
const MAX_GROUP_BYTES = 32 * 1024 * 1024;

/** Rows to write. */
export interface RowsSize {
  /** About how many rows there are; 0 if unknown. */
  readonly rows: number;
  /** About how many bytes each takes; 0 if unknown. */
  readonly bytesPerRow: number;
}

/** The COPY option for the row groups of a frame of this size. */
export function rowGroupOption(size: RowsSize): string {
  return groupRowsOption(groupRowsOf(size));
}

function groupRowsOf({ rows, bytesPerRow }: RowsSize): number {
  const fitting = Math.floor(MAX_GROUP_BYTES / Math.max(1, bytesPerRow));
  const { groupRows } = GROUP_ROWS.findLast(({ from }) => rows >= from) ?? GROUP_ROWS[0];
  return Math.max(1, Math.min(groupRows, fitting));
}

/** Row groups for a stream of unknown length: they grow from certain rows on. */
export function growingRowGroups(bytesPerRow: number): WriteSegments['growing'] {
  return GROUP_ROWS.map(({ from }) => ({ from, groupRows: groupRowsOf({ rows: from, bytesPerRow }) }));
}

/** The least bytes of a row in a CSV file: one digit and a line feed. */
const MIN_CSV_ROW_BYTES = 2;
const CSV_HEAD_BYTES = 64 * 1024;
/** A rough ratio of the memory of rows to their bytes in a Parquet file. */
const PARQUET_RATIO = 4;

/** Estimates the size of the rows of an upload, without reading all of it. */
export async function estimateSize({ source, footer }: Pick<PreparedUpload, 'source' | 'footer'>): Promise<RowsSize> {
  if (source.kind === 'table') return { rows: 0, bytesPerRow: 0 };
  const { size } = await stat(source.path);
  if (source.kind === 'csv') {
    if (size < LONG_FRAME_ROWS * MIN_CSV_ROW_BYTES) return { rows: 0, bytesPerRow: 0 };
    const bytesPerRow = await csvRowBytes(source.path);
    return boundedSize(size / bytesPerRow, bytesPerRow);
  }
  const rows = footer?.rows ?? 0;
  return boundedSize(rows, (PARQUET_RATIO * size) / Math.max(1, rows));
}

/** An estimate keeps row groups from growing, but makes none shorter: many columns in many groups make a long footer. */
function boundedSize(rows: number, bytesPerRow: number): RowsSize {
  const isLong = rows >= LONG_FRAME_ROWS;
  return { rows, bytesPerRow: isLong ? Math.min(bytesPerRow, MAX_GROUP_BYTES / SHORT_GROUP_ROWS) : 0 };
}

/** The mean length of the first lines of a CSV file. */
async function csvRowBytes(path: string): Promise<number> {
  const head = await readStart(path, CSV_HEAD_BYTES);
  const lines = head.reduce((count, byte) => count + (byte === LINE_FEED ? 1 : 0), 0);
  return head.length / Math.max(1, lines);
}
