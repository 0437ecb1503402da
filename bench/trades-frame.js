// The frame the benchmarks read: rows × (bigint, 2-decimal double, 50-value string, timestamp µs, boolean, nullable int),
// the same in every run.
import {
  Bool,
  Field,
  Float64,
  Int32,
  Int64,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  TimestampMicrosecond,
  Utf8,
} from 'apache-arrow';

const BATCH_ROWS = 65_536;
const FIRST_MICROS = 1_704_067_200_000_000n;

const schema = new Schema([
  new Field('id', new Int64(), false),
  new Field('price', new Float64(), false),
  new Field('symbol', new Utf8(), false),
  new Field('at', new TimestampMicrosecond(), false),
  new Field('flag', new Bool(), false),
  new Field('quantity', new Int32(), true),
]);

function createRandom(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
}

function createBatch(start, length, random) {
  const id = new BigInt64Array(length);
  const price = new Float64Array(length);
  const symbols = [];
  const offsets = new Int32Array(length + 1);
  const at = new BigInt64Array(length);
  const flag = new Uint8Array(Math.ceil(length / 8));
  const quantity = new Int32Array(length);
  const valid = new Uint8Array(Math.ceil(length / 8));
  let nullCount = length;
  for (let i = 0; i < length; i++) {
    id[i] = BigInt(start + i);
    price[i] = Math.round(random() * 100_000) / 100;
    symbols.push(`SYM${Math.floor(random() * 50)}`);
    offsets[i + 1] = offsets[i] + symbols[i].length;
    at[i] = FIRST_MICROS + BigInt(start + i) * 1_000_000n + BigInt(Math.floor(random() * 1e6));
    if (random() < 0.5) flag[i >> 3] |= 1 << (i & 7);
    if (random() < 0.9) {
      valid[i >> 3] |= 1 << (i & 7);
      quantity[i] = Math.floor(random() * 1000);
      nullCount--;
    }
  }
  const types = schema.fields.map((field) => field.type);
  const children = [
    makeData({ type: types[0], length, nullCount: 0, data: id }),
    makeData({ type: types[1], length, nullCount: 0, data: price }),
    makeData({ type: types[2], length, nullCount: 0, valueOffsets: offsets, data: Buffer.from(symbols.join('')) }),
    makeData({ type: types[3], length, nullCount: 0, data: at }),
    makeData({ type: types[4], length, nullCount: 0, data: flag }),
    makeData({ type: types[5], length, nullCount, nullBitmap: valid, data: quantity }),
  ];
  return new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length, nullCount: 0, children }));
}

/** The frame as an Arrow IPC stream. */
export function tradesAsArrow(rows) {
  const random = createRandom(42);
  const writer = new RecordBatchStreamWriter();
  for (let start = 0; start < rows; start += BATCH_ROWS) {
    writer.write(createBatch(start, Math.min(BATCH_ROWS, rows - start), random));
  }
  writer.finish();
  return writer.toUint8Array(true);
}
