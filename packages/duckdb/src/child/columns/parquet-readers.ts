import type { BatchWriter } from '../../wire/batch.ts';
import { UnstorableValue } from './column-writer.ts';
import { writeHead } from './fixed-readers.ts';
import type { Int96Unit } from '../../wire/column-plans.ts';
import { TextReader } from './text-reader.ts';

/** Reads bytes and converts each row to a value of a fixed width. */
abstract class BytesReader extends TextReader {
  protected readonly title: string;
  private readonly width: number;

  constructor(width: number, title: string) {
    super();
    this.width = width;
    this.title = title;
  }

  /** Writes the value of a row to `to`, which is zeroed. */
  protected abstract convert(from: Uint8Array, to: DataView): void;

  override write(out: BatchWriter): void {
    writeHead(out, this.validity);
    const rows = this.validity.length;
    const offsets = new Int32Array(this.offsets.array.buffer, this.offsets.array.byteOffset, rows + 1);
    const { bytes } = this.content;
    const values = new Uint8Array(rows * this.width);
    for (let row = 0; row < rows; row++) {
      const from = bytes.subarray(offsets[row], offsets[row + 1]);
      if (from.length > 0) this.convert(from, new DataView(values.buffer, row * this.width, this.width));
    }
    out.buffer(values);
  }
}

/** The width of Arrow's 256-bit decimals. */
const DECIMAL_BYTES = 32;

/** Reads Parquet decimals: big-endian integers of any width. */
export class DecimalBytesReader extends BytesReader {
  constructor(title: string) {
    super(DECIMAL_BYTES, title);
  }

  protected convert(from: Uint8Array, to: DataView): void {
    const sign = (from[0] ?? 0) >= 0x80 ? 0xff : 0;
    const extra = from.length - DECIMAL_BYTES;
    // Bytes beyond 256 bits must only repeat the sign.
    const isLonger =
      extra > 0 && (from.subarray(0, extra).some((byte) => byte !== sign) || (from[extra] ?? 0) >> 7 !== sign >> 7);
    if (isLonger)
      throw new UnstorableValue(0, `Column ${JSON.stringify(this.title)} has a decimal of more than 256 bits.`);
    for (let i = 0; i < DECIMAL_BYTES; i++) to.setUint8(i, from[from.length - 1 - i] ?? sign);
  }
}

const INT96_BYTES = 12;
/** The Julian day of 1970-01-01. */
const EPOCH_DAY = 2_440_588n;
const NANOS_PER_DAY = 86_400_000_000_000n;

/** Reads Parquet's deprecated timestamps: nanoseconds of the day, then the Julian day, little-endian. */
export class Int96Reader extends BytesReader {
  private readonly unit: Int96Unit;

  constructor(unit: Int96Unit, title: string) {
    super(8, title);
    this.unit = unit;
  }

  protected convert(from: Uint8Array, to: DataView): void {
    const view = new DataView(from.buffer, from.byteOffset, from.byteLength);
    if (view.byteLength !== INT96_BYTES) throw this.unfit('does not have 12 bytes');
    const day = BigInt(view.getInt32(8, true)) - EPOCH_DAY;
    const nanos = day * NANOS_PER_DAY + view.getBigInt64(0, true);
    if (this.unit === 'micros' && nanos % 1000n !== 0n)
      throw this.unfit('has nanoseconds, which others do not leave room for');
    const value = this.unit === 'micros' ? nanos / 1000n : nanos;
    if (BigInt.asIntN(64, value) !== value) {
      const unit = this.unit === 'micros' ? 'microseconds' : 'nanoseconds';
      throw this.unfit(`is Julian day ${day + EPOCH_DAY}, outside of the range of a timestamp in ${unit}`);
    }
    to.setBigInt64(0, value, true);
  }

  private unfit(what: string): UnstorableValue {
    return new UnstorableValue(0, `Column ${JSON.stringify(this.title)} has the Parquet type INT96: a value ${what}.`);
  }
}
