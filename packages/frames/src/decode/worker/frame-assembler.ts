import { type RecordBatch, type Schema, Vector } from 'apache-arrow';
import { decodeSchema } from '../arrow/arrow-schema.ts';
import type { FramePiece } from '../decode-steps.ts';
import { dataFrom, type Dictionaries, recordBatchFrom } from '../../columns/record-batch.ts';

/** Assembles a frame from the parts that a decoder yields. */
export interface FrameAssembler {
  readonly schema: Schema;
  /** Adds a part; returns the batch if it is one. */
  add(piece: FramePiece): RecordBatch | undefined;
}

/** Creates an assembler from the schema message. */
export function createFrameAssembler(message: Uint8Array): FrameAssembler {
  const schema = decodeSchema(message);
  const dictionaries: Dictionaries = new Map();
  return {
    schema,
    add(piece) {
      if (piece.kind === 'batch') return recordBatchFrom(schema, piece.rows, piece.columns, dictionaries);
      const type = piece.kind === 'dictionary' ? schema.dictionaries.get(piece.id) : undefined;
      if (piece.kind !== 'dictionary' || type === undefined)
        throw new Error('A decoder sent an unknown part of a frame.');
      dictionaries.set(piece.id, new Vector([dataFrom(type, piece.data, dictionaries)]));
      return undefined;
    },
  };
}
