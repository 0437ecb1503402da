import { type RecordBatch, type Schema, Vector } from 'apache-arrow';
import type { FramePart } from '../decode-steps.ts';
import { dataFrom, type Dictionaries, recordBatchFrom } from '../../columns/record-batch.ts';

/** Assembles a frame from the parts that a decoder yields. */
export interface FrameAssembler {
  readonly schema: Schema;
  /** Adds a part; returns the batch if it is one. */
  add(part: FramePart): RecordBatch | undefined;
}

/** Creates an assembler of batches with this schema. */
export function createFrameAssembler(schema: Schema): FrameAssembler {
  const dictionaries: Dictionaries = new Map();
  return {
    schema,
    add(part) {
      if (part.kind === 'batch') return recordBatchFrom(schema, part.rows, part.columns, dictionaries);
      const type = part.kind === 'dictionary' ? schema.dictionaries.get(part.id) : undefined;
      if (part.kind !== 'dictionary' || type === undefined)
        throw new Error('A decoder sent an unknown part of a frame.');
      dictionaries.set(part.id, new Vector([dataFrom(type, part.data, dictionaries)]));
      return undefined;
    },
  };
}
