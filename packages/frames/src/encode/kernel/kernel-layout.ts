// What the kernel and its callers must agree on: how a column is described in the kernel's memory. Both sides import
// this file, the kernel when it is compiled.

/** Kinds of columns. */
export const KIND_NULL = 0;
export const KIND_BOOL = 1;
export const KIND_INT8 = 2;
export const KIND_INT16 = 3;
export const KIND_INT32 = 4;
export const KIND_INT64 = 5;
export const KIND_UINT8 = 6;
export const KIND_UINT16 = 7;
export const KIND_UINT32 = 8;
export const KIND_UINT64 = 9;
export const KIND_FLOAT16 = 10;
export const KIND_FLOAT32 = 11;
export const KIND_FLOAT64 = 12;
/** UTF-8 as a JSON string. */
export const KIND_JSON_TEXT = 13;
/** UTF-8 as a field of CSV. */
export const KIND_CSV_TEXT = 14;
/** Bytes that are written already; VALUES has a pointer and a length for each row, the pointer 0 where there are none. */
export const KIND_WRITTEN = 15;
export const KIND_TIMESTAMP = 16;
/** Dates as 32-bit days. */
export const KIND_DAY = 17;
/** Dates as 64-bit milliseconds. */
export const KIND_MILLIS = 18;
export const KIND_TIME32 = 19;
export const KIND_TIME64 = 20;
export const KIND_DURATION = 21;
/** Intervals of months. */
export const KIND_MONTHS = 22;
/** Intervals of days and milliseconds. */
export const KIND_DAY_MILLIS = 23;
/** Intervals of months, days and nanoseconds. */
export const KIND_MONTH_DAY_NANOS = 24;
/** Decimals of STRIDE bytes, with SCALE. */
export const KIND_DECIMAL = 25;
/** Bytes as base64. */
export const KIND_BINARY = 26;
export const KIND_UUID = 27;
/** Rows of the child as a JSON array. */
export const KIND_LIST = 28;
/** The children's cells one after the other, with what stands before each, and TRAIL behind the last. */
export const KIND_RECORD = 29;
/** The child's cell between quotes. */
export const KIND_QUOTED = 30;
/** The child's cell, which is JSON, as a field of CSV. */
export const KIND_CSV_JSON = 31;

/** Where the fields of a column's description are. Pointers and numbers have 32 bits unless it says otherwise. */
export const KIND = 0;
/** 1 for a cell of CSV, in which no value is no bytes. */
export const IS_CSV = 4;
/** What stands before each cell. */
export const LEAD = 8;
export const LEAD_LENGTH = 12;
/** What stands behind the cells of a record. */
export const TRAIL = 16;
export const TRAIL_LENGTH = 20;
/** The bits that say whether a value is there; 0 where all are. */
export const VALIDITY = 24;
/** Which bit is that of the first row. */
export const VALIDITY_BIT = 28;
export const VALUES = 32;
/** The end of the bytes that offsets lead to, or how many rows the child of a list has. */
export const VALUES_END = 36;
/** Offsets of texts and lists; 0 where each row has STRIDE bytes or items. */
export const OFFSETS = 40;
/** What the offsets count from. */
export const OFFSET_BASE = 44;
/** Bytes from one offset to the next, bytes or items of a row, or the bit of the first boolean. */
export const STRIDE = 48;
export const SCALE = 52;
/** The first of CHILD_COUNT descriptions that stand one after the other. */
export const CHILD = 56;
export const CHILD_COUNT = 60;
/** The most bytes of a list's item, beside its texts and items. */
export const ITEM_BYTES = 64;
/** 1 for a timestamp between quotes. */
export const IS_QUOTED = 68;
/** 64 bits: how many units of a time are a second. */
export const UNITS = 72;
/** How long a description is: what is behind UNITS is the kernel's own. */
export const COLUMN_BYTES = 152;

/** The kernel writes up to so many bytes more than it says, and reads as many behind a buffer. */
export const SLACK_BYTES = 64;

/** The least power of ten that the kernel asks for, and the greatest. */
export const MIN_POWER = -292;
export const MAX_POWER = 324;
