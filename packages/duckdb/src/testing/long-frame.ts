import { type FrameStream, streamFromTable } from '@svc/frames';
import { Int64, Table, vectorFromArray } from 'apache-arrow';

/** A frame of one LONG column that counts from `start`, for programs that run without a test runner. */
export function longFrame(rows: number, start: number): FrameStream {
  const values = BigInt64Array.from({ length: rows }, (_, i) => BigInt(start + i));
  return streamFromTable(new Table({ id: vectorFromArray([...values], new Int64()) }));
}
