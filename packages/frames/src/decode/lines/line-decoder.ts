import { isUtf8 } from 'node:buffer';
import type { ByteBudget } from '../../byte-budget.ts';
import { allocate } from '../limits.ts';
import { createToken, INCOMPLETE, type LineCursor, LineError } from './line-cursor.ts';
import { type Halves, LINE_PRECISIONS, type LinePrecision } from './line-numbers.ts';
import type { LineTable } from './line-table.ts';
import { type LineState, readLine } from './read-line.ts';

/** Options of `createLineDecoder`. */
export interface LineDecoderOptions {
  /** The unit of times. Default `ns`. */
  readonly precision?: LinePrecision | undefined;
  /** The time of lines without one, in nanoseconds. */
  readonly nowNs: bigint;
  /** Counts the bytes of the columns before they are allocated. */
  readonly budget: ByteBudget;
  /**
   * How many bytes to collect before lines are read, so that a long line that arrives in pieces is not read often. Default
   * 64 KiB.
   */
  readonly stepBytes?: number | undefined;
}

/** Reads line protocol as it arrives. Errors are `LineError`; after one, the decoder cannot be used. */
export interface LineDecoder {
  write(chunk: Uint8Array): void;
  /** Returns the tables that have rows, in the order of their first lines. The last line needs no newline. */
  end(): readonly LineTable[];
}

/** The longest line, in bytes. */
const MAX_LINE_BYTES = 1024 ** 2;

const STEP_BYTES = 64 * 1024;

const NEWLINE = 0x0a;

/** Creates a decoder for the lines of one request. */
export function createLineDecoder(options: LineDecoderOptions): LineDecoder {
  const { precision = 'ns', nowNs, budget, stepBytes = STEP_BYTES } = options;
  const cursor: LineCursor = { bytes: allocate(4 * STEP_BYTES), position: 0, end: 0, line: 1, innerNewlines: 0 };
  const state: LineState = {
    cursor,
    tables: new Map(),
    budget,
    unit: LINE_PRECISIONS[precision],
    now: halvesOf(nowNs),
    name: createToken(),
    value: createToken(),
    halves: { low: 0, high: 0 },
    last: undefined,
    attempt: 0,
  };
  let unread = 0;
  let hasLine = false;

  function add(bytes: Uint8Array): void {
    extend(cursor, bytes);
    unread += bytes.length;
    hasLine ||= bytes.includes(NEWLINE);
    if (unread < stepBytes) return;
    // A long line is not read again with each of its chunks.
    if (hasLine) readLines(state);
    else if (cursor.end - cursor.position > MAX_LINE_BYTES) throw tooLong(cursor.line);
    unread = 0;
    hasLine = false;
  }

  return {
    write(chunk) {
      for (let at = 0; at < chunk.length; at += stepBytes) add(chunk.subarray(at, at + stepBytes));
    },
    end() {
      extend(cursor, Uint8Array.of(NEWLINE));
      readLines(state);
      if (cursor.position < cursor.end) {
        throw new LineError(cursor.line, 'a text in quotes has no end.', 'Write a backslash before a quote in a text.');
      }
      return [...state.tables.values()].filter(({ rows }) => rows > 0);
    },
  };
}

function halvesOf(value: bigint): Halves {
  return { low: Number(BigInt.asUintN(32, value)), high: Number(BigInt.asIntN(32, value >> 32n)) };
}

/** Appends bytes to the window, and drops those already read. */
function extend(cursor: LineCursor, chunk: Uint8Array): void {
  const kept = cursor.end - cursor.position;
  const { bytes } = cursor;
  if (kept + chunk.length < bytes.length) {
    if (cursor.position > 0) bytes.copyWithin(0, cursor.position, cursor.end);
  } else {
    cursor.bytes = allocate(2 * (kept + chunk.length));
    cursor.bytes.set(bytes.subarray(cursor.position, cursor.end));
  }
  cursor.bytes.set(chunk, kept);
  cursor.position = 0;
  cursor.end = kept + chunk.length;
  cursor.bytes[cursor.end] = NEWLINE;
}

/** Reads all lines that are complete. */
function readLines(state: LineState): void {
  const { cursor } = state;
  const firstLine = cursor.line;
  let start = 0;
  try {
    while (cursor.position < cursor.end) {
      start = cursor.position;
      readLine(state);
      if (cursor.position - start > MAX_LINE_BYTES) throw tooLong(cursor.line - 1);
    }
  } catch (error) {
    if (error !== INCOMPLETE) {
      checkText(cursor, start, firstLine);
      throw error;
    }
    cursor.position = start;
    if (cursor.end - start > MAX_LINE_BYTES) throw tooLong(cursor.line);
  }
  checkText(cursor, cursor.position, firstLine);
}

function tooLong(line: number): LineError {
  return new LineError(line, `it is longer than ${MAX_LINE_BYTES} bytes.`, 'Send shorter texts, or fewer columns.');
}

/** Checks that the lines of the window up to `end` are UTF-8. */
function checkText({ bytes }: LineCursor, end: number, firstLine: number): void {
  if (isUtf8(bytes.subarray(0, end))) return;
  let line = firstLine;
  for (let at = 0; at < end; line++) {
    const next = Math.min(bytes.indexOf(NEWLINE, at) + 1, end);
    if (!isUtf8(bytes.subarray(at, next))) {
      throw new LineError(line, 'it is not UTF-8.', 'Encode the lines in UTF-8.');
    }
    at = next;
  }
}
