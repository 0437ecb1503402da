import type { FlatTable } from './flatbuffer.ts';
import { messageHead, notArrow } from './ipc-message.ts';
import { type ArrowField, type ArrowType, readFields } from './ipc-schema.ts';
import { type ArrowColumn, type ArrowDictionary, recordColumns } from './record-columns.ts';

/** A decoded Arrow stream, or a part of one. */
export interface ArrowTable {
  readonly fields: readonly ArrowField[];
  readonly rows: number;
  readonly batches: readonly ArrowRows[];
}

/** Rows that were sent together. */
export interface ArrowRows {
  readonly firstRow: number;
  readonly columns: readonly ArrowColumn[];
}

/** Decodes the messages of an Arrow stream, one after the other. */
export interface ArrowDecoder {
  /** Undefined before the schema. */
  readonly fields: readonly ArrowField[] | undefined;
  /**
   * Decodes the whole messages that the bytes begin with, and returns their rows, which share the memory of the bytes. Throws
   * if they are not Arrow messages, or have types or a layout that the server never sends.
   */
  decode(bytes: Uint8Array): ArrowTable;
}

/** Decodes a whole Arrow stream. Throws as an `ArrowDecoder` does. */
export function decodeArrow(bytes: Uint8Array): ArrowTable {
  return createArrowDecoder().decode(bytes);
}

/** Creates a decoder of a stream that begins with its schema. */
export function createArrowDecoder(): ArrowDecoder {
  let fields: readonly ArrowField[] | undefined;
  let dictionaryTypes: ReadonlyMap<number, ArrowType> = new Map();
  const dictionaries = new Map<number, ArrowDictionary>();

  /** A dictionary holds for the rows after it, until another one has its id. */
  function readDictionary(header: FlatTable, body: Uint8Array): void {
    const id = header.long(0);
    const record = header.table(1);
    const type = dictionaryTypes.get(id);
    if (type === undefined || record === undefined) throw notArrow();
    const isDelta = header.byte(2) !== 0;
    const before = isDelta ? dictionaries.get(id) : undefined;
    const firstKey = before?.length ?? 0;
    const [column] = recordColumns([{ type }], record, body, dictionaries);
    const parts = [...(before?.parts ?? []), ...(column ? [{ firstKey, column }] : [])];
    dictionaries.set(id, { parts, length: firstKey + record.long(0) });
  }

  return {
    get fields() {
      return fields;
    },
    decode(bytes) {
      const batches: ArrowRows[] = [];
      let rows = 0;
      for (let at = 0; at < bytes.length;) {
        const message = bytes.subarray(at);
        const head = messageHead(message);
        if (head === 'end') break;
        if (head === undefined || head.end > message.length) throw notArrow();
        const { kind, header, bodyStart, end } = head;
        const body = message.subarray(bodyStart, end);
        if (kind === 'schema') {
          fields = readFields(header);
          dictionaryTypes = new Map(fields.flatMap(dictionariesOf));
        } else if (fields === undefined) {
          throw notArrow();
        } else if (kind === 'dictionary') {
          readDictionary(header, body);
        } else {
          batches.push({ firstRow: rows, columns: recordColumns(fields, header, body, dictionaries) });
          rows += header.long(0);
        }
        at += end;
      }
      if (fields === undefined) throw notArrow();
      return { fields, rows, batches };
    },
  };
}

/** The types of the values of all dictionaries in a column, by their ids. */
function dictionariesOf({ type }: { readonly type: ArrowType }): readonly (readonly [number, ArrowType])[] {
  if (type.kind === 'dictionary') return [[type.id, type.values], ...dictionariesOf({ type: type.values })];
  return 'children' in type ? type.children.flatMap(dictionariesOf) : [];
}
