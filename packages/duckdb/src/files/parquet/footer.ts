import { appendFile, constants, copyFile, type FileHandle, open, stat, truncate } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import { createYield } from '@svc/frames/async';
import { checkNames, MAX_COLUMNS } from '@svc/frames/columns';
import { unlinkIfThere } from '@svc/objects/internal';
import { DAMAGED, encryptedParquet, tooDeep, tooManyColumns } from './faults.ts';
import { encodeParquetTail, PARQUET_TAIL_BYTES, parseParquetTail } from '../../wire/file-layout.ts';
import {
  encodeStruct,
  numberField,
  structField,
  structsField,
  THRIFT,
  ThriftCursor,
  type ThriftField,
  thriftLong,
  thriftNumber,
  type ThriftStruct,
  thriftStruct,
  thriftText,
} from '../../wire/thrift-compact.ts';
import type { FileSource } from '../frame-files.ts';

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
  /** Appends an exact footer to the file or to a copy of it: with it, DuckDB changes no value. */
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
/** A longer footer is not searched for signs of encrypted columns: a search would take long, and they are rare. */
const MAX_SEARCHED_BYTES = 256 * 1024;

/** Field numbers of `FileMetaData`. */
const FILE = { version: 1, schema: 2, rows: 3, encryption: 8 };

/** Reads the footer of a Parquet file. Returns undefined if there is none: DuckDB then reports what is wrong. */
export async function readParquetFooter(path: string): Promise<ParquetFooter | undefined> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    if (size < PARQUET_TAIL_BYTES) return undefined;
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
    checkNames(elements.slice(1).map(({ element }) => element.name));
    checkDepth(elements.map(({ element }) => element));
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

/** True if the footer names an encryption algorithm for the columns, after the row groups. A malformed one does not. */
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

/** Reads the number of rows. It follows the schema. */
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

/** DuckDB's reader takes twice as long for each list in a list: 30 ms for 16 of them, 50 s for 24. */
const MAX_NESTED_LISTS = 16;
/** Readers of groups are recursive. A list or a map has two groups for each level. */
const MAX_NESTED_GROUPS = 100;

/** Refuses groups that are nested too deep. */
function checkDepth([root, ...elements]: readonly ParquetElement[]): void {
  const parents = [{ left: root?.children ?? 0, lists: 0 }];
  for (const { children, isRepeated } of elements) {
    while (parents.length > 1 && parents.at(-1)?.left === 0) parents.pop();
    const parent = parents.at(-1);
    if (parent === undefined) return;
    parent.left -= 1;
    const lists = parent.lists + Number(isRepeated);
    if (lists > MAX_NESTED_LISTS) throw tooDeep('lists', MAX_NESTED_LISTS);
    if (parents.length > MAX_NESTED_GROUPS) throw tooDeep('groups', MAX_NESTED_GROUPS);
    if (children > 0) parents.push({ left: children, lists });
  }
}

/** The type of a leaf column of a Parquet file, if DuckDB's type is not enough. */
export type ParquetLeaf =
  /** DuckDB reads the exact values. */
  | { readonly kind: 'plain' }
  /** A UTC timestamp in nanoseconds. DuckDB truncates it to microseconds, so it is read as one without a zone. */
  | { readonly kind: 'utc_nanos' }
  /** A UTC timestamp of the format before logical types. DuckDB reads it without a zone, unless the file is extended. */
  | { readonly kind: 'legacy_utc' }
  /** A decimal with more digits than DuckDB supports. Read as bytes: a big-endian integer. */
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
  /** A deprecated timestamp. Read as bytes: nanoseconds of the day, then the Julian day, both little-endian. */
  | { readonly kind: 'int96' }
  /** Only nulls. */
  | { readonly kind: 'null' };

/** A schema element of a Parquet file: a leaf, or a group of the next elements. */
interface ParquetElement {
  readonly name: string;
  readonly children: number;
  readonly isRepeated: boolean;
  readonly leaf: ParquetLeaf;
  /** The substitute for exact values; undefined if DuckDB needs none. */
  readonly exact: ThriftStruct | undefined;
}

/** Field numbers of `SchemaElement`, `LogicalType` and the types in it. */
const ELEMENT = {
  type: 1,
  length: 2,
  repetition: 3,
  name: 4,
  children: 5,
  converted: 6,
  scale: 7,
  precision: 8,
  logical: 10,
};
const LOGICAL = { map: 2, decimal: 5, time: 7, timestamp: 8, unknown: 11, variant: 16, geometry: 17, geography: 18 };
const DECIMAL = { scale: 1, precision: 2 };
const TIME = { isUtc: 1, unit: 2 };
const UNIT = { millis: 1, micros: 2, nanos: 3 };
const REPEATED = 2;
const ANNOTATIONS = [ELEMENT.converted, ELEMENT.scale, ELEMENT.precision, ELEMENT.logical];

const PHYSICAL = { int64: 2, int96: 3, bytes: 6, fixedBytes: 7 };
const INT96_BYTES = 12;
const CONVERTED = { map: 1, list: 3, decimal: 5, timestampMillis: 9, timestampMicros: 10 };

/** The most digits of a DuckDB decimal. */
const MAX_DUCKDB_PRECISION = 38;

const PLAIN: ParquetLeaf = { kind: 'plain' };

/** Returns a schema element, with a substitute if DuckDB needs one to read exact values. */
function parquetElement(fields: ThriftStruct): ParquetElement {
  const name = thriftText(fields.get(ELEMENT.name));
  const children = childrenOf(fields);
  const logical = thriftStruct(fields.get(ELEMENT.logical));
  const isRepeated = thriftNumber(fields.get(ELEMENT.repetition)) === REPEATED;
  return { name, children, isRepeated, ...(children > 0 ? readGroup(fields, logical) : readLeaf(fields, logical)) };
}

/** Returns a map without values as the list of its keys, as other readers do. DuckDB refuses it. */
function mapOfKeys(fields: ThriftStruct, entries: ThriftStruct | undefined): ThriftStruct | undefined {
  const logical = thriftStruct(fields.get(ELEMENT.logical));
  const isMap = logical?.has(LOGICAL.map) || thriftNumber(fields.get(ELEMENT.converted)) === CONVERTED.map;
  if (!isMap || childrenOf(fields) !== 1 || entries === undefined || childrenOf(entries) !== 1) return undefined;
  return new Map([...without(fields, [ELEMENT.logical]), [ELEMENT.converted, numberField(CONVERTED.list)]]);
}

function childrenOf(fields: ThriftStruct): number {
  return thriftNumber(fields.get(ELEMENT.children)) ?? 0;
}

type Reading = Pick<ParquetElement, 'leaf' | 'exact'>;

/** Reads a variant as its raw bytes: DuckDB would convert it to text. */
function readGroup(fields: ThriftStruct, logical: ThriftStruct | undefined): Reading {
  return { leaf: PLAIN, exact: logical?.has(LOGICAL.variant) ? without(fields, [ELEMENT.logical]) : undefined };
}

function readLeaf(fields: ThriftStruct, logical: ThriftStruct | undefined): Reading {
  const physical = thriftNumber(fields.get(ELEMENT.type));
  if (physical === PHYSICAL.int96) {
    const bytes = new Map([
      ...without(fields, ANNOTATIONS),
      [ELEMENT.type, numberField(PHYSICAL.fixedBytes)],
      [ELEMENT.length, numberField(INT96_BYTES)],
    ]);
    return { leaf: { kind: 'int96' }, exact: bytes };
  }
  if (logical?.has(LOGICAL.unknown)) return { leaf: { kind: 'null' }, exact: undefined };
  // Geometries stay bytes, as they are in the file.
  if (logical?.has(LOGICAL.geometry) || logical?.has(LOGICAL.geography)) {
    return { leaf: PLAIN, exact: without(fields, [ELEMENT.logical]) };
  }
  const other = longDecimal(fields, logical, physical) ?? timeOfUtc(fields, logical);
  return other ?? legacyTimestamp(fields, logical, physical) ?? { leaf: PLAIN, exact: undefined };
}

function longDecimal(
  fields: ThriftStruct,
  logical: ThriftStruct | undefined,
  physical: number | undefined,
): Reading | undefined {
  const type = thriftStruct(logical?.get(LOGICAL.decimal));
  if (type === undefined && thriftNumber(fields.get(ELEMENT.converted)) !== CONVERTED.decimal) return undefined;
  const precision = thriftNumber(type?.get(DECIMAL.precision) ?? fields.get(ELEMENT.precision)) ?? 0;
  const scale = thriftNumber(type?.get(DECIMAL.scale) ?? fields.get(ELEMENT.scale)) ?? 0;
  if (precision <= MAX_DUCKDB_PRECISION) return undefined;
  const isBytes = physical === PHYSICAL.bytes || physical === PHYSICAL.fixedBytes;
  return {
    leaf: { kind: 'decimal', precision, scale },
    exact: isBytes ? without(fields, ANNOTATIONS) : undefined,
  };
}

/** Reads UTC times as times without a zone: DuckDB has no nanoseconds with a zone. */
function timeOfUtc(fields: ThriftStruct, logical: ThriftStruct | undefined): Reading | undefined {
  const field = [LOGICAL.time, LOGICAL.timestamp].find((one) => logical?.has(one));
  if (logical === undefined || field === undefined) return undefined;
  const type = thriftStruct(logical.get(field));
  if (type?.get(TIME.isUtc)?.type !== THRIFT.true) return undefined;
  const isNanos = thriftStruct(type.get(TIME.unit))?.has(UNIT.nanos) === true;
  const isTimestamp = field === LOGICAL.timestamp;
  if (isTimestamp && !isNanos) return undefined;
  const local: ThriftStruct = new Map([...type, [TIME.isUtc, FALSE]]);
  const exact = new Map([
    ...without(fields, [ELEMENT.converted]),
    [ELEMENT.logical, structField(new Map([[field, structField(local)]]))],
  ]);
  return { leaf: isTimestamp ? { kind: 'utc_nanos' } : PLAIN, exact };
}

/** By the format, a converted type without a logical one is in UTC. */
function legacyTimestamp(
  fields: ThriftStruct,
  logical: ThriftStruct | undefined,
  physical: number | undefined,
): Reading | undefined {
  const converted = thriftNumber(fields.get(ELEMENT.converted));
  const isMillis = converted === CONVERTED.timestampMillis;
  if (!isMillis && converted !== CONVERTED.timestampMicros) return undefined;
  if (logical !== undefined || physical !== PHYSICAL.int64) return undefined;
  const type: ThriftStruct = new Map([
    [TIME.isUtc, TRUE],
    [TIME.unit, structField(new Map([[isMillis ? UNIT.millis : UNIT.micros, structField(new Map())]]))],
  ]);
  const exact = new Map([...fields, [ELEMENT.logical, structField(new Map([[LOGICAL.timestamp, structField(type)]]))]]);
  return { leaf: { kind: 'legacy_utc' }, exact };
}

const TRUE: ThriftField = { type: THRIFT.true, bytes: new Uint8Array(0) };
const FALSE: ThriftField = { type: THRIFT.false, bytes: new Uint8Array(0) };

function without(fields: ThriftStruct, numbers: readonly number[]): ThriftStruct {
  return new Map([...fields].filter(([number]) => !numbers.includes(number)));
}

/**
 * Runs `work` with a source whose footer may be extended to an exact one. A Parquet file in need of one
 * but must not be modified is copied first, next to the new one. If `work` fails, a temporary file is restored: the next
 * attempt must see the original types.
 */
export async function withExactSource<T>(
  from: FileSource,
  path: string,
  work: (source: FileSource) => Promise<T>,
): Promise<T> {
  if (from.kind !== 'parquet') return work(from);
  if (from.isTemporary) return withSize(from.path, () => work(from));
  const footer = await readParquetFooter(from.path).catch((error: unknown) => {
    // The reader reports what is wrong with the file.
    if (error instanceof ServiceError) throw error;
    return undefined;
  });
  if (footer?.isExact !== false) return work(from);
  const copy = `${path}.copy`;
  try {
    await copyFile(from.path, copy, constants.COPYFILE_FICLONE);
    return await work({ ...from, path: copy, isTemporary: true });
  } finally {
    await unlinkIfThere(copy).catch(() => {});
  }
}

async function withSize<T>(path: string, work: () => Promise<T>): Promise<T> {
  const { size } = await stat(path);
  try {
    return await work();
  } catch (error) {
    await truncate(path, size);
    throw error;
  }
}
