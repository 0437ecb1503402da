import type { Table } from '@uwdata/flechette';
import type { AnswerBatch } from '../rows/answer-batch.ts';
import { columnsOf, isExact } from './arrow-columns.ts';
import { decodeArrow } from './decode-arrow.ts';
import { createIpcSplitter, type IpcMessage } from './ipc-messages.ts';
import type { TableReader } from './table-reader.ts';

/** The decoder cannot read the answer exactly: it must be read as a JSON table. */
export class NotExact extends Error {
  override readonly name = 'NotExact';
}

/** Creates a reader of an answer in the format `arrow`. `push` throws a `NotExact` if the decoder cannot read it exactly. */
export function createArrowReader(): TableReader {
  const splitter = createIpcSplitter();
  let schema: Uint8Array | undefined;
  const dictionaries: (IpcMessage & { kind: 'dictionary' })[] = [];
  let columns: TableReader['columns'];

  function readSchema({ bytes }: IpcMessage): void {
    const { fields } = decode([bytes]).schema;
    if (!isExact(fields)) throw new NotExact('A column has a type that only JSON has exactly.');
    schema = bytes;
    columns = columnsOf(fields);
  }

  function addDictionary(message: IpcMessage & { kind: 'dictionary' }): void {
    const before = message.isDelta ? dictionaries : dictionaries.filter(({ id }) => id !== message.id);
    dictionaries.splice(0, dictionaries.length, ...before, message);
  }

  function rowsOf({ bytes }: IpcMessage): AnswerBatch {
    if (schema === undefined) throw new Error('The answer has rows before its columns.');
    const table = decode([schema, ...dictionaries.map((message) => message.bytes), bytes]);
    return { kind: 'arrow', table, rowCount: table.numRows };
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
      for (const message of splitter.push(chunk)) {
        if (message.kind === 'schema') readSchema(message);
        else if (message.kind === 'dictionary') addDictionary(message);
        else batches.push(rowsOf(message));
      }
      return batches;
    },
  };
}

function decode(messages: Uint8Array[]): Table {
  try {
    return decodeArrow(messages);
  } catch (error) {
    throw new NotExact('The decoder does not know this Arrow data.', { cause: error });
  }
}
