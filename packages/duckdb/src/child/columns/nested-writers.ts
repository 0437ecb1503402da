import type { DuckDBType } from '@duckdb/node-api';
import duckdb, { type Vector } from '@duckdb/node-bindings';
import type { BatchReader } from '../../wire/batch.ts';
import { type ColumnWriter, UnstorableValue, Validity } from './column-writer.ts';
import { DictionaryWriter } from './dictionary-writer.ts';
import {
  createBitWriter,
  createCopyWriter,
  createDaysWriter,
  createDecimalWriter,
  createHalfWriter,
  createScaleWriter,
  createUuidWriter,
  EmptyStructWriter,
  IntervalWriter,
} from './fixed-writers.ts';
import { DuckDBListType, DuckDBMapType, DuckDBStructType } from '../node-api.ts';
import type { PutPlan } from '../../wire/column-plans.ts';
import {
  DigitsWriter,
  FixedTextsWriter,
  loadOffsets,
  NullWriter,
  OffsetTextsWriter,
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

/** Writes lists, fixed-size lists, and maps, which are lists of entries. */
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

  /** Which items belong to a list that is not null; undefined if all do. */
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

  /** Reports an item that cannot be stored with the row of its list. */
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
