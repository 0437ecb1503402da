/** A view: the length of a value, and then either its bytes, or the number of a data buffer and the place in it. */
export const VIEW_BYTES = 16;

/** A view holds a value of so many bytes itself. */
export const INLINE_BYTES = 12;

// Where the parts of a view are in it.
const INLINE_START = 4;
const PART = 8;
const START = 12;

/** Views as words, which the functions below read. */
export function viewWords(views: Uint8Array): DataView {
  return new DataView(views.buffer, views.byteOffset, views.byteLength);
}

/** The bytes that the value of a row has. */
export function viewLength(words: DataView, row: number): number {
  return words.getInt32(VIEW_BYTES * row, true);
}

/** The number of the data buffer that has the value of a row, where the view has not. */
export function viewPart(words: DataView, row: number): number {
  return words.getInt32(VIEW_BYTES * row + PART, true);
}

/** Where in its data buffer the value of a row begins. */
export function viewStart(words: DataView, row: number): number {
  return words.getInt32(VIEW_BYTES * row + START, true);
}

/** The place where a view has the value itself. */
export function inlineStart(row: number): number {
  return VIEW_BYTES * row + INLINE_START;
}

/** Some views and the data buffers they lead to. A view of a row that is null can be anything. */
export interface ViewRows {
  readonly words: DataView;
  readonly rows: number;
  readonly parts: readonly Uint8Array[];
  readonly isNull: (row: number) => boolean;
}

/** Calls with every row whose value is in a data buffer, and the length of that. */
function forEachLong({ words, rows, isNull }: ViewRows, visit: (row: number, length: number) => void): void {
  for (let row = 0; row < rows; row++) {
    const length = viewLength(words, row);
    if (length > INLINE_BYTES && !isNull(row)) visit(row, length);
  }
}

/** The bytes that rows have in data buffers; more than these have where values share them. */
export function usedBytes(views: ViewRows): number {
  let used = 0;
  forEachLong(views, (_, length) => (used += length));
  return used;
}

/** The bytes of the data buffers. */
export function partBytes({ parts }: ViewRows): number {
  return parts.reduce((bytes, part) => bytes + part.length, 0);
}

/** Copies the values that rows have in data buffers to the target from `at` on, and leads the views there; returns the end. */
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

/** Copies whole data buffers to the target from `at` on, and leads the views there; returns the end. */
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

/** A view that stands for no value could name a buffer that is gone. */
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
