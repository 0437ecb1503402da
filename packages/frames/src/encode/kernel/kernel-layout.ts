// The layout of column descriptors in the kernel's memory. The kernel imports this file at compile time, and its
// callers import it too.

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
/** UTF-8 as a CSV field. */
export const KIND_CSV_TEXT = 14;
/** Already encoded bytes; VALUES has a pointer and a length for each row, and the pointer 0 for an invalid one. */
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
/** The cells of the children, each after its LEAD, and TRAIL after the last. */
export const KIND_RECORD = 29;
/** The child's cell in quotes. */
export const KIND_QUOTED = 30;
/** The child's cell, which is JSON, as a CSV field. */
export const KIND_CSV_JSON = 31;

/** The offsets of the fields of a column descriptor. Pointers and numbers have 32 bits unless noted. */
export const KIND = 0;
/** 1 for a CSV cell, in which null is empty and a date has no time. */
export const IS_CSV = 4;
/** The text before each cell. */
export const LEAD = 8;
export const LEAD_LENGTH = 12;
/** The text after the cells of a record. */
export const TRAIL = 16;
export const TRAIL_LENGTH = 20;
/** The validity bits; 0 if no row is null. */
export const VALIDITY = 24;
/** The bit of the first row. */
export const VALIDITY_BIT = 28;
export const VALUES = 32;
/** The end of the bytes offsets refer to, or the number of rows of a list's child. */
export const VALUES_END = 36;
/** The offsets of texts and lists; 0 if each row has STRIDE bytes or items. */
export const OFFSETS = 40;
/** The base that is subtracted from the offsets. */
export const OFFSET_BASE = 44;
/** The bytes between offsets, the bytes or items per row, or the bit of the first boolean. */
export const STRIDE = 48;
export const SCALE = 52;
/** The first of CHILD_COUNT consecutive descriptors. */
export const CHILD = 56;
export const CHILD_COUNT = 60;
/** The maximum bytes of a list's item, except for its texts and items. */
export const ITEM_BYTES = 64;
/** 1 for a timestamp in quotes. */
export const IS_QUOTED = 68;
/** 64 bits: the units per second. */
export const UNITS = 72;
/** The size of a descriptor; the bytes after UNITS are private to the kernel. */
export const COLUMN_BYTES = 152;

/** The kernel may write this many bytes past the end it reports, and read as many past a buffer. */
export const SLACK_BYTES = 64;

/** The smallest and the largest power of ten the kernel needs. */
export const MIN_POWER = -292;
export const MAX_POWER = 324;
