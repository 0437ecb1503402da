import type { AnswerBatch } from '../rows/answer-batch.ts';
import { columnsOf } from './arrow-columns.ts';
import { type ArrowTable, createArrowDecoder } from './decode-arrow.ts';
import { createIpcSplitter } from './ipc-messages.ts';
import type { TableReader } from './table-reader.ts';

/** The answer has Arrow data that the console does not know: it must be read as a JSON table. */
export class UnknownArrow extends Error {
  override readonly name = 'UnknownArrow';
}

/** Creates a reader of an answer in the format `arrow`. `push` throws an `UnknownArrow` if it cannot decode the answer. */
export function createArrowReader(): TableReader {
  const splitter = createIpcSplitter();
  const decoder = createArrowDecoder();
  let columns: TableReader['columns'];

  function decode(bytes: Uint8Array): ArrowTable {
    try {
      return decoder.decode(bytes);
    } catch (cause) {
      throw new UnknownArrow('The Arrow data is of an unknown kind.', { cause });
    }
  }

  return {
    members: new Map(),
    get columns() {
      return columns;
    },
    get isComplete() {
      return splitter.isEnded;
    },
    push(chunk) {
      const batches: AnswerBatch[] = [];
      for (const { kind, bytes } of splitter.push(chunk)) {
        const table = decode(bytes);
        if (kind === 'schema') columns = columnsOf(table.fields);
        if (kind === 'rows') batches.push({ kind: 'arrow', table, rowCount: table.rows });
      }
      return batches;
    },
  };
}
