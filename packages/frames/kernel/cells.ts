import * as layout from '../src/encode/kernel/kernel-layout';
import { writeBase64, writeFixedPoint, writeUuid } from './binary';
import { writeInt, writeUint } from './digits';
import { floatFromHalf, writeDouble, writeFloat } from './float';
import { writePeriod } from './period';
import { copyBytes, countJsonText, countQuotes, quoteField, writeCsvText, writeJsonText } from './text';
import { writeDate, writeMillisDate, writeTimeOfDay, writeTimestamp } from './time';

const NULL: u32 = 0x6c6c_756e;
const TRUE: u64 = 0x6575_7274;
const FALSE: u64 = 0x65_736c_6166;
const NAN: u32 = 0x4e_614e;
const INFINITY_TEXT: u64 = 0x7974_696e_6966_6e49;

// The end of the output, and the bytes reserved after each text and item: those of the row and of the open items, except
// for their texts and items.
let limit: u64 = 0;
let reserved: u64 = 0;
let isBroken: bool = false;

/** Sets the end of the output, and the bytes that a row takes except for its texts and items. */
export function setRoom(end: usize, rowBytes: u32): void {
  limit = end;
  reserved = rowBytes;
  isBroken = false;
}

/** Whether a value pointed outside its buffer. */
export function hasBroken(): bool {
  return isBroken;
}

function hasRoom(at: usize, bytes: u64): bool {
  return (at as u64) + bytes + reserved <= limit;
}

function fail(): usize {
  isBroken = true;
  return 0;
}

function bit(bits: usize, i: u32): u32 {
  return (load<u8>(bits + (i >> 3)) >> ((i & 7) as u8)) & 1;
}

function writeNull(column: usize, at: usize): usize {
  if (load<u32>(column, layout.IS_CSV)) return at;
  store<u32>(at, NULL);
  return at + 4;
}

/** Writes a float that is not finite. */
function writeOddFloat(column: usize, at: usize, value: f64): usize {
  if (!load<u32>(column, layout.IS_CSV)) return writeNull(column, at);
  if (isNaN(value)) {
    store<u32>(at, NAN);
    return at + 3;
  }
  let to = at;
  if (value < 0) store<u8>(to++, 45);
  store<u64>(to, INFINITY_TEXT);
  return to + 8;
}

function writeText(column: usize, at: usize, row: u32, kind: i32): usize {
  const values = load<usize>(column, layout.VALUES);
  const stride = load<u32>(column, layout.STRIDE);
  let start = values + row * stride;
  let end = start + stride;
  const offsets = load<usize>(column, layout.OFFSETS);
  if (offsets != 0) {
    const base = values - load<usize>(column, layout.OFFSET_BASE);
    start = base + load<usize>(offsets + row * stride);
    end = base + load<usize>(offsets + (row + 1) * stride);
    if (start < values || start > end || end > load<usize>(column, layout.VALUES_END)) return fail();
  }
  const length = (end - start) as u64;
  if (kind == layout.KIND_BINARY) {
    if (!hasRoom(at, (length / 3) * 4 + 6)) return 0;
    if (length > 0 || !load<u32>(column, layout.IS_CSV)) return writeBase64(at, start, end);
    // Without quotes, empty bytes would look like null.
    store<u16>(at, 0x2222);
    return at + 2;
  }
  // In the worst case every byte is escaped; count the bytes only if that would not fit, but the bytes themselves would.
  if (!hasRoom(at, 6 * length + 2) && (!hasRoom(at, length) || !hasRoom(at, countJsonText(start, end)))) return 0;
  return kind == layout.KIND_JSON_TEXT ? writeJsonText(at, start, end) : writeCsvText(at, start, end);
}

function writeWritten(column: usize, at: usize, row: u32): usize {
  const place = load<usize>(column, layout.VALUES) + 8 * row;
  const from = load<usize>(place);
  const length = load<usize>(place, 4);
  if (from == 0) return fail();
  return hasRoom(at, length) ? copyBytes(at, from, length) : 0;
}

function writeList(column: usize, at: usize, row: u32): usize {
  const stride = load<u32>(column, layout.STRIDE);
  let item: u32 = row * stride;
  let end: u32 = item + stride;
  const offsets = load<usize>(column, layout.OFFSETS);
  if (offsets != 0) {
    const base = load<u32>(column, layout.OFFSET_BASE);
    item = load<u32>(offsets + row * stride) - base;
    end = load<u32>(offsets + (row + 1) * stride) - base;
  }
  if (item > end || end > load<u32>(column, layout.VALUES_END)) return fail();
  const child = load<usize>(column, layout.CHILD);
  // The numbers of an item can follow its texts. If there is no space, the next setRoom ends the reservation.
  const itemBytes: u64 = load<u32>(column, layout.ITEM_BYTES) + 1;
  reserved += itemBytes;
  store<u8>(at, 91);
  let to = at + 1;
  const isEmpty = item == end;
  for (; item < end; item++) {
    if (!hasRoom(to, 0)) return 0;
    to = writeCell(child, to, item);
    if (to == 0) return 0;
    store<u8>(to++, 44);
  }
  reserved -= itemBytes;
  if (!isEmpty) to--;
  store<u8>(to, 93);
  return to + 1;
}

function writeRecord(column: usize, at: usize, row: u32): usize {
  const first = load<usize>(column, layout.CHILD);
  const end = first + load<u32>(column, layout.CHILD_COUNT) * layout.COLUMN_BYTES;
  let to = at;
  for (let child = first; child < end; child += layout.COLUMN_BYTES) {
    to = copyBytes(to, load<usize>(child, layout.LEAD), load<usize>(child, layout.LEAD_LENGTH));
    to = writeCell(child, to, row);
    if (to == 0) return 0;
  }
  return copyBytes(to, load<usize>(column, layout.TRAIL), load<usize>(column, layout.TRAIL_LENGTH));
}

function writeQuoted(column: usize, at: usize, row: u32): usize {
  store<u8>(at, 34);
  const to = writeCell(load<usize>(column, layout.CHILD), at + 1, row);
  if (to == 0) return 0;
  store<u8>(to, 34);
  return to + 1;
}

function writeCsvJson(column: usize, at: usize, row: u32): usize {
  const to = writeCell(load<usize>(column, layout.CHILD), at, row);
  if (to == 0) return 0;
  const quotes = countQuotes(at, to);
  if (quotes < 0) return to;
  return hasRoom(to, quotes + 2) ? quoteField(at, to, quotes) : 0;
}

/** Writes times and rarer types. */
function writeOther(column: usize, at: usize, row: u32, kind: i32): usize {
  const values = load<usize>(column, layout.VALUES);
  const units = load<i64>(column, layout.UNITS);
  switch (kind) {
    case layout.KIND_FLOAT16: {
      const value = floatFromHalf(load<u16>(values + 2 * row));
      return isFinite(value) ? writeFloat(at, value) : writeOddFloat(column, at, value);
    }
    case layout.KIND_DAY:
      return writeDate(column, at, load<i32>(values + 4 * row));
    case layout.KIND_MILLIS:
      return writeMillisDate(column, at, load<i64>(values + 8 * row));
    case layout.KIND_TIME32:
      return writeTimeOfDay(at, load<i32>(values + 4 * row), units);
    case layout.KIND_TIME64:
      return writeTimeOfDay(at, load<i64>(values + 8 * row), units);
    case layout.KIND_DURATION:
      return writePeriod(at, 0, 0, load<i64>(values + 8 * row), units);
    case layout.KIND_MONTHS:
      return writePeriod(at, load<i32>(values + 4 * row), 0, 0, units);
    case layout.KIND_DAY_MILLIS:
      return writePeriod(at, 0, load<i32>(values + 8 * row), load<i32>(values + 8 * row, 4), units);
    case layout.KIND_MONTH_DAY_NANOS: {
      const value = values + 16 * row;
      return writePeriod(at, load<i32>(value), load<i32>(value, 4), load<i64>(value, 8), units);
    }
    case layout.KIND_DECIMAL: {
      const width = load<u32>(column, layout.STRIDE);
      return writeFixedPoint(at, values + row * width, width, load<i32>(column, layout.SCALE));
    }
    case layout.KIND_UUID:
      return writeUuid(at, values + 16 * row);
    case layout.KIND_LIST:
      return writeList(column, at, row);
    case layout.KIND_QUOTED:
      return writeQuoted(column, at, row);
    case layout.KIND_CSV_JSON:
      return writeCsvJson(column, at, row);
    default:
      return fail();
  }
}

/** Writes one cell; returns 0 if there is no space for its texts or items, or if it is invalid. */
export function writeCell(column: usize, at: usize, row: u32): usize {
  const validity = load<usize>(column, layout.VALIDITY);
  if (validity != 0 && bit(validity, load<u32>(column, layout.VALIDITY_BIT) + row) == 0) return writeNull(column, at);
  const values = load<usize>(column, layout.VALUES);
  const kind = load<i32>(column, layout.KIND);
  switch (kind) {
    case layout.KIND_NULL:
      return writeNull(column, at);
    case layout.KIND_BOOL: {
      const isTrue = bit(values, load<u32>(column, layout.STRIDE) + row);
      store<u64>(at, isTrue ? TRUE : FALSE);
      return at + 5 - isTrue;
    }
    case layout.KIND_INT8:
      return writeInt(at, load<i8>(values + row));
    case layout.KIND_INT16:
      return writeInt(at, load<i16>(values + 2 * row));
    case layout.KIND_INT32:
      return writeInt(at, load<i32>(values + 4 * row));
    case layout.KIND_INT64:
      return writeInt(at, load<i64>(values + 8 * row));
    case layout.KIND_UINT8:
      return writeUint(at, load<u8>(values + row));
    case layout.KIND_UINT16:
      return writeUint(at, load<u16>(values + 2 * row));
    case layout.KIND_UINT32:
      return writeUint(at, load<u32>(values + 4 * row));
    case layout.KIND_UINT64:
      return writeUint(at, load<u64>(values + 8 * row));
    case layout.KIND_FLOAT32: {
      const value = load<f32>(values + 4 * row);
      return isFinite(value) ? writeFloat(at, value) : writeOddFloat(column, at, value);
    }
    case layout.KIND_FLOAT64: {
      const value = load<f64>(values + 8 * row);
      return isFinite(value) ? writeDouble(at, value) : writeOddFloat(column, at, value);
    }
    case layout.KIND_JSON_TEXT:
    case layout.KIND_CSV_TEXT:
    case layout.KIND_BINARY:
      return writeText(column, at, row, kind);
    case layout.KIND_WRITTEN:
      return writeWritten(column, at, row);
    case layout.KIND_TIMESTAMP:
      return writeTimestamp(column, at, load<i64>(values + 8 * row));
    case layout.KIND_RECORD:
      return writeRecord(column, at, row);
    default:
      return writeOther(column, at, row, kind);
  }
}
