import { type FrameStream, streamFromTable } from '@svc/frames';
import { Int64, Table, vectorFromArray } from 'apache-arrow';

/** Creates a frame with one LONG column that counts from `start`, for programs without a test runner. */
export function longFrame(rows: number, start: number): FrameStream {
  const values = BigInt64Array.from({ length: rows }, (_, i) => BigInt(start + i));
  return streamFromTable(new Table({ id: vectorFromArray([...values], new Int64()) }));
}
