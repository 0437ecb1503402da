import type { DuckDBType } from '@duckdb/node-api';
import duckdb, { type Vector } from '@duckdb/node-bindings';
import { arrayOver, type BatchReader } from '../../wire/batch.ts';
import type { PutPlan } from '../../wire/column-plans.ts';
import { DuckDBListType, DuckDBMapType, DuckDBStructType } from '../node-api.ts';
import {
  type ColumnWriter,
  createBitWriter,
  createCopyWriter,
  createDaysWriter,
  createDecimalWriter,
  createHalfWriter,
  createScaleWriter,
  createUuidWriter,
  EmptyStructWriter,
  FixedWriter,
  IntervalWriter,
  UnstorableValue,
  Validity,
} from './fixed-writers.ts';
import {
  DigitsWriter,
  FixedTextsWriter,
  loadOffsets,
  NullWriter,
  OffsetTextsWriter,
  TextsWriter,
  ViewTextsWriter,
} from './text-writers.ts';

type PlanOf<K extends PutPlan['kind']> = Extract<PutPlan, { kind: K }>;

const CREATE: { readonly [K in PutPlan['kind']]: (plan: PlanOf<K>) => ColumnWriter } = {
  null: () => new NullWriter(),
  bits: () => createBitWriter(),
  copy: ({ type, width }) => createCopyWriter(type, width),
  scale: ({ type, width, factor }) => createScaleWriter(type, width, factor),
  days: () => createDaysWriter(),
  half: () => createHalfWriter(),
  decimal: ({ width, precision, scale }) => createDecimalWriter(width, precision, scale),
  digits: ({ width, scale }) => new DigitsWriter(width, scale),
  uuid: () => createUuidWriter(),
  interval: ({ unit }) => new IntervalWriter(unit),
  bytes: ({ isText, isWide }) => new OffsetTextsWriter(isText, isWide),
  views: ({ isText }) => new ViewTextsWriter(isText),
  fixed_bytes: ({ width }) => new FixedTextsWriter(width),
  list: (plan) => new ListWriter(plan),
  fixed_list: (plan) => new ListWriter(plan),
  struct: (plan) => new StructWriter(plan),
  empty_struct: () => new EmptyStructWriter(),
  dictionary: (plan) => new DictionaryWriter(plan, createColumnWriter),
};

/** Creates a writer for a plan. */
export function createColumnWriter<K extends PutPlan['kind']>(plan: PlanOf<K>): ColumnWriter {
  return CREATE[plan.kind](plan);
}

/** Writes lists, fixed-size lists, and maps as lists of entries. */
class ListWriter implements ColumnWriter {
  readonly type: DuckDBType;
  private readonly validity = new Validity();
  private offsets: Int32Array = new Int32Array(1);
  private readonly item: ColumnWriter;
  private readonly plan: PlanOf<'list' | 'fixed_list'>;

  constructor(plan: PlanOf<'list' | 'fixed_list'>) {
    this.plan = plan;
    this.item = createColumnWriter(plan.item);
    const isMap = plan.kind === 'list' && plan.isMap;
    this.type = isMap ? mapType(this.item) : new DuckDBListType(this.item.type);
  }

  load(batch: BatchReader, parent?: Validity): void {
    this.validity.load(batch, parent);
    const { plan } = this;
    this.offsets =
      plan.kind === 'list'
        ? loadOffsets(batch, plan.isWide)
        : Int32Array.from({ length: this.validity.length + 1 }, (_, row) => row * plan.size);
    this.item.load(batch, this.itemValidity());
  }

  /** The items of lists that are not null; undefined if none is. */
  private itemValidity(): Validity | undefined {
    if (!this.validity.hasNulls) return undefined;
    const { offsets } = this;
    const rows = this.validity.length;
    const items = offsets[rows] ?? 0;
    let bits: Uint8Array<ArrayBuffer> | undefined;
    for (let row = 0; row < rows; row++) {
      const from = offsets[row] ?? 0;
      const to = offsets[row + 1] ?? 0;
      if (from === to || this.validity.isValid(row)) continue;
      bits ??= new Uint8Array((items + 7) >> 3).fill(255);
      for (let at = from; at < to; at++) bits[at >> 3] = (bits[at >> 3] ?? 0) & ~(1 << (at & 7));
    }
    if (bits === undefined) return undefined;
    const validity = new Validity();
    validity.set(items, bits);
    return validity;
  }

  get hasNegativeZero(): boolean {
    return this.item.hasNegativeZero === true;
  }

  fill(vector: Vector, start: number, count: number): number {
    const { offsets } = this;
    const first = offsets[start] ?? 0;
    const items = (offsets[start + count] ?? 0) - first;
    const entries = new BigUint64Array(2 * count);
    for (let i = 0; i < count; i++) {
      const from = offsets[start + i] ?? 0;
      entries[2 * i] = BigInt(from - first);
      entries[2 * i + 1] = this.validity.isValid(start + i) ? BigInt((offsets[start + i + 1] ?? 0) - from) : 0n;
    }
    duckdb.copy_data_to_vector(vector, 0, entries.buffer, 0, entries.byteLength);
    duckdb.list_vector_reserve(vector, items);
    duckdb.list_vector_set_size(vector, items);
    const bytes = items === 0 ? 0 : this.fillItems(duckdb.list_vector_get_child(vector), first, items);
    return bytes + 4 * count + this.validity.fill(vector, start, count);
  }

  /** Reports an unstorable item with the row of its list. */
  private fillItems(child: Vector, first: number, items: number): number {
    try {
      return this.item.fill(child, first, items);
    } catch (error) {
      if (!(error instanceof UnstorableValue)) throw error;
      const row = this.offsets.findIndex((offset) => offset > error.row) - 1;
      throw new UnstorableValue(row, error.message);
    }
  }
}

/** Returns the type of a map with these entries. */
function mapType(entries: ColumnWriter): DuckDBType {
  const [key, value] = entries instanceof StructWriter ? entries.fields : [];
  if (key === undefined || value === undefined) throw new Error('A map entry must have a key and a value.');
  return new DuckDBMapType(key.type, value.type);
}

class StructWriter implements ColumnWriter {
  readonly type: DuckDBType;
  readonly fields: readonly ColumnWriter[];
  private readonly validity = new Validity();

  constructor({ fields, names }: PlanOf<'struct'>) {
    this.fields = fields.map((field) => createColumnWriter(field));
    this.type = new DuckDBStructType(
      names,
      this.fields.map((field) => field.type),
    );
  }

  load(batch: BatchReader, parent?: Validity): void {
    this.validity.load(batch, parent);
    for (const field of this.fields) field.load(batch, this.validity);
  }

  get hasNegativeZero(): boolean {
    return this.fields.some((field) => field.hasNegativeZero);
  }

  fill(vector: Vector, start: number, count: number): number {
    let bytes = this.validity.fill(vector, start, count);
    for (const [i, field] of this.fields.entries()) {
      bytes += field.fill(duckdb.struct_vector_get_child(vector, i), start, count);
    }
    return bytes;
  }
}

type DictionaryPlan = Extract<PutPlan, { kind: 'dictionary' }>;

/** A loop copies this many bytes faster than a call. */
const MAX_LOOPED = 64;

/** Values of a fixed width in bytes; 0 for bits. */
interface ValuesWriter {
  readonly width: number;
  readonly validity: Validity;
  values: Uint8Array<ArrayBuffer>;
}

/** Indices into a dictionary. The values are stored, not the indices. */
class DictionaryWriter implements ColumnWriter {
  readonly type: DuckDBType;
  private readonly validity = new Validity();
  private indices: ArrayLike<number | bigint> = [];
  /** The values may arrive in several parts. */
  private parts: readonly ColumnWriter[] = [];
  private content = new Uint8Array(0);
  private readonly target: ColumnWriter;
  private readonly plan: DictionaryPlan;
  private readonly create: (plan: PutPlan) => ColumnWriter;

  constructor(plan: DictionaryPlan, create: (plan: PutPlan) => ColumnWriter) {
    this.plan = plan;
    this.create = create;
    this.target = create(plan.values);
    this.type = this.target.type;
  }

  load(batch: BatchReader, parent?: Validity): void {
    this.validity.load(batch, parent);
    this.indices = indicesOver(batch.buffer(), this.plan);
    // None: the values of the previous batch still apply.
    const parts = batch.word();
    if (parts === 0) return;
    this.parts = Array.from({ length: parts }, () => {
      const part = this.create(this.plan.values);
      part.load(batch);
      return part;
    });
  }

  get hasNegativeZero(): boolean {
    return this.parts.some((part) => part.hasNegativeZero);
  }

  fill(vector: Vector, start: number, count: number): number {
    const { target } = this;
    if (target instanceof TextsWriter) this.gatherTexts(target, start, count);
    else if (target instanceof FixedWriter) this.gatherValues(FixedWriter, target, start, count);
    else if (target instanceof IntervalWriter) this.gatherValues(IntervalWriter, target, start, count);
    else if (target instanceof NullWriter) target.set(count);
    else throw new Error(`Dictionaries of ${this.plan.values.kind} are not supported.`);
    try {
      return target.fill(vector, 0, count);
    } catch (error) {
      if (!(error instanceof UnstorableValue)) throw error;
      throw new UnstorableValue(start + error.row, error.message);
    }
  }

  private gatherTexts(target: TextsWriter, start: number, count: number): void {
    const offsets = new Int32Array(count + 1);
    const found: (readonly [Uint8Array, number])[] = [];
    const bits = this.eachValue(TextsWriter, start, count, (part, row, i) => {
      const from = part.texts.offsets[row] ?? 0;
      found[i] = [part.texts.content, from];
      offsets[i + 1] = (part.texts.offsets[row + 1] ?? 0) - from;
    });
    for (let i = 0; i < count; i++) offsets[i + 1] = (offsets[i] ?? 0) + (offsets[i + 1] ?? 0);
    const content = this.contentOf(offsets[count] ?? 0);
    for (const [i, place] of found.entries()) {
      if (place === undefined) continue;
      const [from, at] = place;
      const begin = offsets[i] ?? 0;
      const length = (offsets[i + 1] ?? 0) - begin;
      if (length > MAX_LOOPED) content.set(from.subarray(at, at + length), begin);
      else for (let k = 0; k < length; k++) content[begin + k] = from[at + k] ?? 0;
    }
    target.set({ offsets, content });
    target.validity.set(count, bits);
  }

  /** Returns the same memory again if it suffices: long values would often need new memory. */
  private contentOf(bytes: number): Uint8Array<ArrayBuffer> {
    if (bytes > this.content.length) this.content = new Uint8Array(bytes);
    return this.content.subarray(0, bytes);
  }

  private gatherValues(
    kind: abstract new (...args: never[]) => ValuesWriter,
    target: ValuesWriter,
    start: number,
    count: number,
  ): void {
    const { width } = target;
    const values = new Uint8Array(width === 0 ? (count + 7) >> 3 : width * count);
    const bits = this.eachValue(kind, start, count, (part, row, i) => {
      if (width > 0) values.set(part.values.subarray(width * row, width * (row + 1)), width * i);
      else values[i >> 3] = (values[i >> 3] ?? 0) | ((((part.values[row >> 3] ?? 0) >> (row & 7)) & 1) << (i & 7));
    });
    target.values = values;
    target.validity.set(count, bits);
  }

  /** Calls back for every row with a value, with the part and the row of the value; returns the validity of the rows. */
  private eachValue<W extends { readonly validity: Validity }>(
    kind: abstract new (...args: never[]) => W,
    start: number,
    count: number,
    found: (part: W, row: number, i: number) => void,
  ): Uint8Array<ArrayBuffer> {
    const bits = new Uint8Array((count + 7) >> 3);
    let nulls = 0;
    for (let i = 0; i < count; i++) {
      let row = this.validity.isValid(start + i) ? Number(this.indices[start + i]) : -1;
      let part: W | undefined;
      for (const candidate of row < 0 ? [] : this.parts) {
        if (!(candidate instanceof kind)) break;
        if (row < candidate.validity.length) {
          part = candidate;
          break;
        }
        row -= candidate.validity.length;
      }
      if (part?.validity.isValid(row) !== true) {
        nulls++;
        continue;
      }
      bits[i >> 3] = (bits[i >> 3] ?? 0) | (1 << (i & 7));
      found(part, row, i);
    }
    return nulls === 0 ? new Uint8Array(0) : bits;
  }
}

function indicesOver(bytes: Uint8Array<ArrayBuffer>, { width, isSigned }: DictionaryPlan): ArrayLike<number | bigint> {
  switch (width) {
    case 1:
      return isSigned ? arrayOver(Int8Array, bytes) : bytes;
    case 2:
      return isSigned ? arrayOver(Int16Array, bytes) : arrayOver(Uint16Array, bytes);
    case 4:
      return isSigned ? arrayOver(Int32Array, bytes) : arrayOver(Uint32Array, bytes);
    default:
      return arrayOver(BigInt64Array, bytes);
  }
}
