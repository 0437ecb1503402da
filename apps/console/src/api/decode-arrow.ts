import { type Table, tableFromIPC } from '@uwdata/flechette';

/** By default flechette reads 64-bit integers, timestamps and decimals as doubles, and loses digits. */
const EXACT = { useBigInt: true, useBigIntTimestamp: true, useDecimalInt: true } as const;

/** Decodes an Arrow stream, or its messages. Throws if flechette cannot read one of its types. */
export function decodeArrow(bytes: Uint8Array | Uint8Array[]): Table {
  return tableFromIPC(bytes, EXACT);
}
