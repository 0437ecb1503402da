import type { DuckDBType } from '@duckdb/node-api';
import duckdb, { type Vector } from '@duckdb/node-bindings';
import { isUtf8 } from 'node:buffer';
import { arrayOver, type BatchReader } from '../../wire/batch.ts';
import { type ColumnWriter, integerAt, Validity } from './fixed-writers.ts';
import { PLAIN_TYPES } from '../node-api.ts';

const MAX_INLINE = 12;

/** Concatenated strings and their offsets. */
export interface Texts {
  readonly offsets: Int32Array;
  readonly content: Uint8Array<ArrayBuffer>;
}

/** Writes strings or bytes; subclasses decode their layouts. */
export abstract class TextsWriter implements ColumnWriter {
  readonly type: DuckDBType;
  readonly validity = new Validity();
  texts: Texts = { offsets: new Int32Array(1), content: new Uint8Array(0) };
  private readonly isText: boolean;
  private entries = new Uint32Array(0);

  constructor(isText: boolean) {
    this.isText = isText;
    this.type = isText ? PLAIN_TYPES.VARCHAR : PLAIN_TYPES.BLOB;
  }

  load(batch: BatchReader, parent?: Validity): void {
    this.validity.load(batch, parent);
    this.set(this.loadTexts(batch));
  }

  /** Sets the strings from another column. */
  set(texts: Texts): void {
    this.texts = this.isText && !isAllUtf8(texts) ? replaceBroken(texts) : texts;
  }

  protected abstract loadTexts(batch: BatchReader): Texts;

  fill(vector: Vector, start: number, count: number): number {
    const { offsets, content } = this.texts;
    const first = offsets[start] ?? 0;
    const length = (offsets[start + count] ?? 0) - first;
    if (this.entries.length < 4 * count) this.entries = new Uint32Array(4 * count);
    // Assign all of them to the first row; the others point into it.
    const address = length > MAX_INLINE ? assignAll(vector, content.subarray(first, first + length)) : 0;
    this.fillEntries(start, count, address - first);
    duckdb.copy_data_to_vector(vector, 0, this.entries.buffer, 0, 16 * count);
    return length + 4 * count + this.validity.fill(vector, start, count);
  }

  /** Fills DuckDB's string entries: length and bytes, or the first 4 bytes and a pointer. */
  private fillEntries(start: number, count: number, base: number): void {
    const { offsets, content } = this.texts;
    const { entries } = this;
    const bytes = new Uint8Array(entries.buffer);
    for (let i = 0; i < count; i++) {
      const from = offsets[start + i] ?? 0;
      const length = this.validity.isValid(start + i) ? (offsets[start + i + 1] ?? 0) - from : 0;
      const inline = length <= MAX_INLINE ? length : 4;
      entries.fill(0, 4 * i, 4 * i + 4);
      entries[4 * i] = length;
      for (let k = 0; k < inline; k++) bytes[16 * i + 4 + k] = content[from + k] ?? 0;
      if (length > MAX_INLINE) {
        const address = base + from;
        entries[4 * i + 2] = address % 2 ** 32;
        entries[4 * i + 3] = address / 2 ** 32;
      }
    }
  }
}

/** Copies strings into the memory of a vector; returns their address. */
function assignAll(vector: Vector, texts: Uint8Array): number {
  duckdb.vector_assign_string_element_len(vector, 0, texts);
  const entry = duckdb.vector_get_data(vector, 16);
  const view = new DataView(entry.buffer, entry.byteOffset, 16);
  if (view.getUint32(0, true) !== texts.length) throw new Error('DuckDB did not accept the strings of a column.');
  return view.getUint32(12, true) * 2 ** 32 + view.getUint32(8, true);
}

/** True if each string is UTF-8: the concatenation is, and none starts within a character. */
function isAllUtf8({ offsets, content }: Texts): boolean {
  if (!isUtf8(content)) return false;
  for (let i = 0; i < offsets.length - 1; i++) {
    if (((content[offsets[i] ?? 0] ?? 0) & 0xc0) === 0x80) return false;
  }
  return true;
}

function replaceBroken({ offsets, content }: Texts): Texts {
  const all = Buffer.from(content.buffer, content.byteOffset, content.length);
  return textsFrom(offsets.length - 1, (row) => {
    const bytes = all.subarray(offsets[row], offsets[row + 1]);
    return isUtf8(bytes) ? bytes : Buffer.from(bytes.toString());
  });
}

/** Concatenates strings. */
function textsFrom(rows: number, textAt: (row: number) => Uint8Array): Texts {
  const offsets = new Int32Array(rows + 1);
  const parts: Uint8Array[] = [];
  let end = 0;
  for (let row = 0; row < rows; row++) {
    const bytes = textAt(row);
    parts.push(bytes);
    end += bytes.length;
    offsets[row + 1] = end;
  }
  const content = new Uint8Array(end);
  for (const [row, part] of parts.entries()) content.set(part, offsets[row]);
  return { offsets, content };
}

/** Writes strings with offsets, starting anywhere. */
export class OffsetTextsWriter extends TextsWriter {
  private readonly isWide: boolean;

  constructor(isText: boolean, isWide: boolean) {
    super(isText);
    this.isWide = isWide;
  }

  protected override loadTexts(batch: BatchReader): Texts {
    const offsets = loadOffsets(batch, this.isWide);
    return { offsets, content: batch.buffer() };
  }
}

/** Loads offsets, shifted to start at 0. */
export function loadOffsets(batch: BatchReader, isWide: boolean): Int32Array {
  const bytes = batch.buffer();
  if (isWide) {
    const wide = arrayOver(BigInt64Array, bytes);
    const first = wide[0] ?? 0n;
    return Int32Array.from(wide, (offset) => Number(offset - first));
  }
  const offsets = arrayOver(Int32Array, bytes);
  const first = offsets[0] ?? 0;
  return first === 0 ? offsets : offsets.map((offset) => offset - first);
}

/** Writes string views: short strings inline, long ones in one of several buffers. */
export class ViewTextsWriter extends TextsWriter {
  protected override loadTexts(batch: BatchReader): Texts {
    const views = batch.buffer();
    const words = arrayOver(Uint32Array, views);
    const parts = Array.from({ length: batch.word() }, () => ({ start: batch.word(), bytes: batch.buffer() }));
    return textsFrom(views.length / 16, (row) => {
      if (!this.validity.isValid(row)) return EMPTY;
      const length = words[4 * row] ?? 0;
      if (length <= MAX_INLINE) return views.subarray(16 * row + 4, 16 * row + 4 + length);
      const part = parts[words[4 * row + 2] ?? 0];
      const at = (words[4 * row + 3] ?? 0) - (part?.start ?? 0);
      return part?.bytes.subarray(at, at + length) ?? EMPTY;
    });
  }
}

const EMPTY = new Uint8Array(0);

/** Writes bytes of a fixed width. */
export class FixedTextsWriter extends TextsWriter {
  private readonly width: number;

  constructor(width: number) {
    super(false);
    this.width = width;
  }

  protected override loadTexts(batch: BatchReader): Texts {
    const content = batch.buffer();
    return { offsets: Int32Array.from({ length: this.validity.length + 1 }, (_, row) => row * this.width), content };
  }
}

/** Writes decimals and integers too wide for DuckDB's Parquet as text: `-1.50`, or `123e2` if the scale is negative. */
export class DigitsWriter extends TextsWriter {
  private readonly width: number;
  private readonly scale: number;

  constructor(width: number, scale: number) {
    super(true);
    this.width = width;
    this.scale = scale;
  }

  protected override loadTexts(batch: BatchReader): Texts {
    const { buffer, byteOffset, byteLength } = batch.buffer();
    const from = new DataView(buffer, byteOffset, byteLength);
    return textsFrom(this.validity.length, (row) =>
      this.validity.isValid(row) ? Buffer.from(decimalText(integerAt(from, row, this.width), this.scale)) : EMPTY,
    );
  }

  override fill(vector: Vector, start: number, count: number): number {
    super.fill(vector, start, count);
    return count * this.width;
  }
}

function decimalText(unscaled: bigint, scale: number): string {
  const text = unscaled.toString();
  if (scale === 0 || (scale < 0 && unscaled === 0n)) return text;
  if (scale < 0) return `${text}e${-scale}`;
  const sign = unscaled < 0n ? '-' : '';
  const digits = text.slice(sign.length).padStart(scale + 1, '0');
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** Writes a column of the type null. */
export class NullWriter implements ColumnWriter {
  readonly type = PLAIN_TYPES.VARCHAR;
  private readonly validity = new Validity();

  load(batch: BatchReader): void {
    this.set(batch.word());
  }

  /** Sets the number of rows. */
  set(rows: number): void {
    this.validity.set(rows, new Uint8Array((rows + 7) >> 3));
  }

  fill(vector: Vector, start: number, count: number): number {
    duckdb.copy_data_to_vector(vector, 0, new ArrayBuffer(16 * count), 0, 16 * count);
    return 4 * count + this.validity.fill(vector, start, count);
  }
}
