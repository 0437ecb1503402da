import type { DuckDBType } from '@duckdb/node-api';
import type { Vector } from '@duckdb/node-bindings';
import { arrayOver, type BatchReader } from '../../wire/batch.ts';
import { type ColumnWriter, UnstorableValue, Validity } from './column-writer.ts';
import { FixedWriter, IntervalWriter } from './fixed-writers.ts';
import type { PutPlan } from '../../wire/column-plans.ts';
import { NullWriter, TextsWriter } from './text-writers.ts';

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
export class DictionaryWriter implements ColumnWriter {
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

  /** Calls back for every row that has a value, with the part and the row of the value; returns which rows have one. */
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
