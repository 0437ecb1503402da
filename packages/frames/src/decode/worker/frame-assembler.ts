import { type RecordBatch, type Schema, Vector } from 'apache-arrow';
import { decodeSchema } from '../arrow/arrow-schema.ts';
import type { FramePiece } from '../decode-steps.ts';
import { dataFrom, type Dictionaries, recordBatchFrom } from '../../columns/record-batch.ts';

/** Puts the pieces that a decoder yields together to a frame. */
export interface FrameAssembler {
  readonly schema: Schema;
  /** Takes a piece; returns the batch if it is one. */
  add(piece: FramePiece): RecordBatch | undefined;
}

/** An assembler for the frame whose schema message came first. */
export function createFrameAssembler(message: Uint8Array): FrameAssembler {
  const schema = decodeSchema(message);
  const dictionaries: Dictionaries = new Map();
  return {
    schema,
    add(piece) {
      if (piece.kind === 'batch') return recordBatchFrom(schema, piece.rows, piece.columns, dictionaries);
      const type = piece.kind === 'dictionary' ? schema.dictionaries.get(piece.id) : undefined;
      if (piece.kind !== 'dictionary' || type === undefined) throw new Error('A decoder sent a piece of no frame.');
      dictionaries.set(piece.id, new Vector([dataFrom(type, piece.data, dictionaries)]));
      return undefined;
    },
  };
}
