import { type FlatTable, MAX_METADATA_BYTES, PREFIX_BYTES, prefixOf, readFlatbuffer } from '@svc/arrow';
import { type ArrowField, type ArrowType, type NumberArray, readFields } from './ipc-schema.ts';

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

/** The buffers of a column of a record batch, or of a part of it. Those its type does not have are empty. */
export interface ArrowColumn {
  readonly nullCount: number;
  readonly validity: Uint8Array;
  /** The values as numbers of the type's width; of a view, four 32-bit numbers each. */
  readonly values: ArrayLike<number | bigint>;
  /** The memory of `values`; of texts and binary values their bytes. */
  readonly bytes: Uint8Array;
  readonly offsets: ArrayLike<number | bigint>;
  /** The buffers that long values of a view are in. */
  readonly data: readonly Uint8Array[];
  readonly children: readonly ArrowColumn[];
  readonly dictionary: ArrowDictionary | undefined;
}

/** The values of a dictionary: those of its first message, and of the messages that added to it. */
export interface ArrowDictionary {
  readonly parts: readonly { readonly firstKey: number; readonly column: ArrowColumn }[];
  readonly length: number;
}

/** Decodes the messages of an Arrow stream, one after the other. */
export interface ArrowDecoder {
  /** Undefined before the schema. */
  readonly fields: readonly ArrowField[] | undefined;
  /**
   * Decodes the whole messages the bytes begin with, and returns their rows, which share the memory of the bytes. Throws
   * if they are not Arrow messages, or have types or a layout the server never sends.
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
    const id = header.size(0);
    const record = header.table(1);
    const type = dictionaryTypes.get(id);
    if (type === undefined || record === undefined) throw notArrow();
    const isDelta = header.byte(2) !== 0;
    const before = isDelta ? dictionaries.get(id) : undefined;
    const firstKey = before?.length ?? 0;
    const [column] = recordColumns([{ type }], record, body, dictionaries);
    const parts = [...(before?.parts ?? []), ...(column ? [{ firstKey, column }] : [])];
    dictionaries.set(id, { parts, length: firstKey + record.size(0) });
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
          rows += header.size(0);
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
  if (type.kind === 'dictionary') return [[type.id, type.dictionary], ...dictionariesOf({ type: type.dictionary })];
  return 'children' in type ? type.children.flatMap(dictionariesOf) : [];
}

/** What a message of an Arrow stream says of itself. */
export interface MessageHead {
  readonly kind: 'schema' | 'dictionary' | 'rows';
  readonly header: FlatTable;
  /** Where the body is, counted from the start of the message. */
  readonly bodyStart: number;
  readonly end: number;
}

const KINDS = [undefined, 'schema', 'dictionary', 'rows'] as const;

/**
 * Reads the head of the message the bytes start with. Returns undefined if it is not all there, and `end` for the mark
 * at the end of the stream. Throws if the bytes are not an Arrow stream.
 */
export function messageHead(bytes: Uint8Array): MessageHead | 'end' | undefined {
  const prefix = prefixOf(bytes);
  if (prefix === undefined) return undefined;
  const { isMarked, length } = prefix;
  if (!isMarked || length < 0 || length > MAX_METADATA_BYTES) throw notArrow();
  if (length === 0) return 'end';
  const bodyStart = PREFIX_BYTES + length;
  if (bytes.length < bodyStart) return undefined;
  try {
    const message = readFlatbuffer(bytes.subarray(PREFIX_BYTES, bodyStart));
    const kind = KINDS[message.byte(1)];
    const header = message.table(2);
    if (kind === undefined || header === undefined) throw notArrow();
    return { kind, header, bodyStart, end: bodyStart + message.size(3) };
  } catch (error) {
    throw error instanceof RangeError ? notArrow() : error;
  }
}

/** The error of bytes that are not an Arrow stream. */
export function notArrow(): Error {
  return new Error('The answer is not a valid Arrow stream.');
}

const EMPTY = new Uint8Array(0);

/**
 * Returns the columns of a record batch; they share the memory of its body. Throws if the body is compressed, or if a buffer
 * is not in it.
 */
function recordColumns(
  fields: readonly { readonly type: ArrowType }[],
  record: FlatTable,
  body: Uint8Array,
  dictionaries: ReadonlyMap<number, ArrowDictionary>,
): readonly ArrowColumn[] {
  if (record.table(3) !== undefined) throw new TypeError('The Arrow data is compressed.');
  const nodes = record.sizes(1, 2).values();
  const regions = record.sizes(2, 2).values();
  const dataCounts = record.sizes(4, 1).values();

  function bytes(): Uint8Array {
    const start = next(regions);
    const end = start + next(regions);
    if (end > body.length) throw new RangeError('A buffer is not in its message.');
    return body.subarray(start, end);
  }

  function columnOf(type: ArrowType): ArrowColumn {
    const length = next(nodes);
    const nullCount = next(nodes);
    const none = { values: EMPTY, bytes: EMPTY, offsets: EMPTY, data: [], children: [], dictionary: undefined };
    if (type.kind === 'null') return { ...none, nullCount: length, validity: EMPTY };
    const column = { ...none, nullCount, validity: bytes() };
    if ('array' in type) return { ...column, ...numbers(bytes(), type.array) };
    if (type.kind === 'dictionary') {
      return { ...column, ...numbers(bytes(), type.keys.array), dictionary: dictionaries.get(type.id) };
    }
    const offsets = 'offsets' in type && type.offsets ? numbers(bytes(), type.offsets).values : EMPTY;
    if ('children' in type) return { ...column, offsets, children: columnsOf(type.children) };
    if (type.offsets) return { ...column, offsets, bytes: bytes() };
    return { ...column, ...numbers(bytes(), Int32Array), data: Array.from({ length: next(dataCounts) }, bytes) };
  }

  const columnsOf = (parts: readonly { readonly type: ArrowType }[]): readonly ArrowColumn[] =>
    parts.map(({ type }) => columnOf(type));

  return columnsOf(fields);
}

function next(values: Iterator<number, undefined>): number {
  const { value } = values.next();
  if (value === undefined) throw new RangeError('The Arrow data has fewer buffers than its columns need.');
  return value;
}

/** The numbers in a buffer. Its end may be padding. */
function numbers(bytes: Uint8Array, ArrayType: NumberArray): Pick<ArrowColumn, 'bytes' | 'values'> {
  const length = Math.floor(bytes.length / ArrayType.BYTES_PER_ELEMENT);
  return { bytes, values: new ArrayType(bytes.buffer, bytes.byteOffset, length) };
}
