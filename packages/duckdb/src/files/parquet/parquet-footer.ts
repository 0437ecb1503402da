import { appendFile, type FileHandle, open } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import { createYield, MAX_COLUMNS } from '@svc/frames/internal';
import { mapOfKeys, type ParquetElement, parquetElement, type ParquetLeaf } from './parquet-elements.ts';
import { DAMAGED, encryptedParquet, tooManyColumns } from './parquet-faults.ts';
import { encodeParquetTail, PARQUET_TAIL_BYTES, parseParquetTail } from '../../wire/parquet-tail.ts';
import { encodeStruct, structsField, THRIFT, ThriftCursor, thriftLong } from '../../wire/thrift-compact.ts';

/** The columns in the footer of a Parquet file. */
export interface ParquetFooter {
  /** The column names in the file. */
  readonly names: readonly string[];
  /** All leaf columns, in order. */
  readonly leaves: readonly ParquetLeaf[];
  /** The declared number of rows; undefined if the footer has none where writers put it. */
  readonly rows: number | undefined;
  /** False if DuckDB needs another footer to keep all values and types. */
  readonly isExact: boolean;
  /** False if DuckDB would change values without another footer. */
  readonly keepsValues: boolean;
  /** Appends a footer under which DuckDB changes no value, to the file or to a copy of it. */
  appendExact(path: string): Promise<void>;
}

/** The last bytes of a file whose footer is encrypted. */
const ENCRYPTED_MAGIC = 'PARE';
/** No frame has a longer schema, or more elements. */
const MAX_SCHEMA_BYTES = 32 * 1024 * 1024;
/** The whole footer is copied if DuckDB needs another one. */
const MAX_FOOTER_BYTES = 256 * 1024 * 1024;
/** Besides the root, a column or nested field has at most two elements: those of a list. */
const MAX_ELEMENTS = 1 + 2 * MAX_COLUMNS;
/** An element has a name and a few numbers. It is read in one step. */
const MAX_ELEMENT_BYTES = 16 * 1024;
/** A longer footer is not searched for signs of encrypted columns: that would take long, and they are rare. */
const MAX_SEARCHED_BYTES = 256 * 1024;

/** Field numbers of `FileMetaData`. */
const FILE = { version: 1, schema: 2, rows: 3, encryption: 8 };

/** Reads the footer of a Parquet file. Returns undefined if there is none: DuckDB then reports what is wrong. */
export async function readParquetFooter(path: string): Promise<ParquetFooter | undefined> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const tail = await readAt(file, size - PARQUET_TAIL_BYTES, PARQUET_TAIL_BYTES);
    if (tail?.toString('latin1', 4) === ENCRYPTED_MAGIC) throw encryptedParquet();
    const length = tail && parseParquetTail(tail);
    if (length === undefined) return undefined;
    const start = size - PARQUET_TAIL_BYTES - length;
    if (start < 0) return undefined;
    if (length > MAX_FOOTER_BYTES) {
      throw new ServiceError(
        'invalid_data',
        `The footer of the Parquet file has ${length} bytes; at most ${MAX_FOOTER_BYTES} are allowed.`,
        { hint: 'Write the file with fewer row groups or columns.' },
      );
    }
    const bytes = await readAt(file, start, Math.min(length, MAX_SCHEMA_BYTES));
    if (bytes === undefined) return undefined;
    if (length <= MAX_SEARCHED_BYTES && hasEncryptedColumns(bytes)) throw encryptedParquet();
    const { elements, schemaStart, schemaEnd, rows } = await readSchema(bytes);
    const columns = columnsOf(elements.map(({ element }) => element));
    if (Math.max(columns.names.length, columns.leaves.length) > MAX_COLUMNS) throw tooManyColumns();
    return {
      ...columns,
      rows,
      isExact: elements.every(({ element }) => element.exact === undefined),
      keepsValues: elements.every(({ element: { exact, leaf } }) => exact === undefined || leaf.kind === 'legacy_utc'),
      async appendExact(target) {
        const head = Buffer.concat([bytes.subarray(0, schemaStart), await encodeSchema(elements)]);
        return append(target, head, { path, start: start + schemaEnd, length: length - schemaEnd });
      },
    };
  } finally {
    await file.close();
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer | undefined> {
  if (position < 0) return undefined;
  const bytes = Buffer.alloc(length);
  const { bytesRead } = await file.read(bytes, 0, length, position);
  return bytesRead === length ? bytes : undefined;
}

/** The part of a footer after the schema. */
interface FooterRest {
  readonly path: string;
  readonly start: number;
  readonly length: number;
}

/** Only the head of the footer changes: the rest, with the positions of the rows, is copied. */
async function append(target: string, head: Uint8Array, { path, start, length }: FooterRest): Promise<void> {
  const file = await open(path, 'r');
  try {
    const rest = await readAt(file, start, length);
    if (rest === undefined) throw new Error('The footer of the Parquet file has changed.');
    // One copy of them all would take long: the rest may have 256 MiB.
    for (const part of [head, rest, encodeParquetTail(head.length + rest.length)]) await appendFile(target, part);
  } finally {
    await file.close();
  }
}

interface ReadElement {
  readonly element: ParquetElement;
  /** The encoded element in the file. */
  readonly bytes: Uint8Array;
}

interface ReadSchema {
  readonly elements: readonly ReadElement[];
  /** The position of the element list in the footer. */
  readonly schemaStart: number;
  readonly schemaEnd: number;
  readonly rows: number | undefined;
}

/** Parses only the head of the footer: the metadata of row groups can be long. */
async function readSchema(footer: Uint8Array): Promise<ReadSchema> {
  const pause = createYield();
  await pause();
  try {
    const cursor = new ThriftCursor(footer);
    let head = cursor.fieldHead(0);
    // A value of another type may be as long as the footer.
    if (head?.id === FILE.version && head.type === THRIFT.i32) {
      cursor.skip(head.type);
      head = cursor.fieldHead(FILE.version);
    }
    if (head?.id !== FILE.schema || head.type !== THRIFT.list) throw new RangeError('There is no schema.');
    const schemaStart = cursor.position;
    const list = cursor.listHead();
    if (list.type !== THRIFT.struct) throw new RangeError('There is no schema.');
    if (list.count > MAX_ELEMENTS) throw tooManyColumns();
    const structs: { readonly fields: ReturnType<ThriftCursor['struct']>; readonly bytes: Uint8Array }[] = [];
    for (let i = 0; i < list.count; i++) {
      const bytes = footer.subarray(cursor.position, cursor.position + MAX_ELEMENT_BYTES);
      const element = new ThriftCursor(bytes);
      const fields = element.struct();
      structs.push({ fields, bytes: bytes.subarray(0, element.position) });
      cursor.position += element.position;
      await pause();
    }
    const elements: ReadElement[] = [];
    for (const [i, { fields, bytes }] of structs.entries()) {
      const element = parquetElement(fields);
      const exact = element.exact ?? mapOfKeys(fields, structs[i + 1]?.fields);
      elements.push({ element: { ...element, exact }, bytes });
      await pause();
    }
    const schemaEnd = cursor.position;
    return { elements, schemaStart, schemaEnd, rows: readRows(cursor, footer) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ServiceError('invalid_data', 'The schema of the Parquet file cannot be read.', {
      hint: DAMAGED,
      cause: error,
    });
  }
}

/** Whether the footer names an algorithm for the columns, which follows the row groups. A malformed one does not. */
function hasEncryptedColumns(footer: Uint8Array): boolean {
  try {
    const cursor = new ThriftCursor(footer);
    let head = cursor.fieldHead(0);
    for (; head !== undefined && head.id < FILE.encryption; head = cursor.fieldHead(head.id)) cursor.skip(head.type);
    return head?.id === FILE.encryption;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Reads the number of rows, which follows the schema. */
function readRows(cursor: ThriftCursor, footer: Uint8Array): number | undefined {
  const head = cursor.fieldHead(FILE.schema);
  if (head?.id !== FILE.rows || head.type !== THRIFT.i64) return undefined;
  const start = cursor.position;
  cursor.skip(head.type);
  return thriftLong({ type: head.type, bytes: footer.subarray(start, cursor.position) });
}

async function encodeSchema(elements: readonly ReadElement[]): Promise<Uint8Array> {
  const pause = createYield();
  const structs: Uint8Array[] = [];
  for (const { element, bytes } of elements) {
    structs.push(element.exact ? encodeStruct(element.exact) : bytes);
    await pause();
  }
  return structsField(structs).bytes;
}

/** Collects the columns: the children of the first element, each followed by its descendants. */
function columnsOf(elements: readonly ParquetElement[]): Pick<ParquetFooter, 'names' | 'leaves'> {
  const names: string[] = [];
  for (let at = 1; at < elements.length;) {
    names.push(elements[at]?.name ?? '');
    for (let left = 1; left > 0 && at < elements.length; at++, left--) left += Math.max(0, elements[at]?.children ?? 0);
  }
  const leaves = elements.slice(1).flatMap(({ children, leaf }) => (children > 0 ? [] : [leaf]));
  return { names, leaves };
}
