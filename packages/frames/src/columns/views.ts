/** The size of a view: the length of a value, then either its bytes, or the index of a data buffer and an offset. */
export const VIEW_BYTES = 16;

/** The longest value that a view holds inline. */
export const INLINE_BYTES = 12;

// Offsets within a view.
const INLINE_START = 4;
const PART = 8;
const START = 12;

/** Returns views in the form that the functions below take. */
export function viewWords(views: Uint8Array): DataView {
  return new DataView(views.buffer, views.byteOffset, views.byteLength);
}

/** Returns the length of a row's value in bytes. */
export function viewLength(words: DataView, row: number): number {
  return words.getInt32(VIEW_BYTES * row, true);
}

/** Returns the index of the data buffer of a row whose value is not inline. */
export function viewPart(words: DataView, row: number): number {
  return words.getInt32(VIEW_BYTES * row + PART, true);
}

/** Returns the offset of a row's value in its data buffer. */
export function viewStart(words: DataView, row: number): number {
  return words.getInt32(VIEW_BYTES * row + START, true);
}

/** Returns the offset of a row's inline value. */
export function inlineStart(row: number): number {
  return VIEW_BYTES * row + INLINE_START;
}

/** Views and their data buffers. The view of a null row can be anything. */
export interface ViewRows {
  readonly words: DataView;
  readonly rows: number;
  readonly parts: readonly Uint8Array[];
  readonly isNull: (row: number) => boolean;
}

/** Visits every row whose value is in a data buffer, with its length. */
function forEachLong({ words, rows, isNull }: ViewRows, visit: (row: number, length: number) => void): void {
  for (let row = 0; row < rows; row++) {
    const length = viewLength(words, row);
    if (length > INLINE_BYTES && !isNull(row)) visit(row, length);
  }
}

/** Sums the lengths of values in data buffers; more than `partBytes` if values overlap. */
export function usedBytes(views: ViewRows): number {
  let used = 0;
  forEachLong(views, (_, length) => (used += length));
  return used;
}

/** Sums the sizes of the data buffers. */
export function partBytes({ parts }: ViewRows): number {
  return parts.reduce((bytes, part) => bytes + part.length, 0);
}

/** Copies the values in data buffers to `target` from `at`, redirects the views, and returns the end. */
export function moveValues(views: ViewRows, target: Uint8Array, at: number): number {
  const { words, parts } = views;
  let end = at;
  clearNulls(views);
  forEachLong(views, (row, length) => {
    const start = viewStart(words, row);
    target.set(parts[viewPart(words, row)].subarray(start, start + length), end);
    setPlace(words, row, end);
    end += length;
  });
  return end;
}

/** Copies whole data buffers to `target` from `at`, redirects the views, and returns the end. */
export function moveParts(views: ViewRows, target: Uint8Array, at: number): number {
  const { words, parts } = views;
  const places: number[] = [];
  let end = at;
  for (const part of parts) {
    places.push(end);
    target.set(part, end);
    end += part.length;
  }
  clearNulls(views);
  forEachLong(views, (row) => setPlace(words, row, places[viewPart(words, row)] + viewStart(words, row)));
  return end;
}

/** The view of a null row could refer to a buffer that no longer exists. */
function clearNulls({ words, rows, isNull }: ViewRows): void {
  for (let row = 0; row < rows; row++) {
    if (!isNull(row)) continue;
    words.setBigInt64(VIEW_BYTES * row, 0n);
    words.setBigInt64(VIEW_BYTES * row + PART, 0n);
  }
}

function setPlace(words: DataView, row: number, start: number): void {
  words.setInt32(VIEW_BYTES * row + PART, 0, true);
  words.setInt32(VIEW_BYTES * row + START, start, true);
}
