import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { checkSchema, childrenOf, TYPE_METADATA_KEY, typeOf, valueTypeOf } from '@svc/frames/columns';
import { uncheckedSchemaFromUpload } from '@svc/frames/ipc';
import { DataType, Decimal, Duration, Field, List, Schema, Struct, Timestamp, TimeUnit, Utf8 } from 'apache-arrow';
import type { DuckType, GetPlan, Int96Unit } from '../../wire/column-plans.ts';
import type { ChildResponses } from '../../wire/requests.ts';
import type { ForeignColumn, SourceInfo } from '../frame-files.ts';
import type { ParquetFooter, ParquetLeaf } from './footer.ts';
import { fieldFromDuckdb, foreignColumn } from '../../types/duckdb-types.ts';
import { mapOf } from '../../types/stored-types.ts';
import { globFree, sqlName, uniqueNames } from '../../wire/sql-names.ts';
import { DAMAGED } from './faults.ts';
import type { FileChild } from '../../child-link/file-child.ts';
import { refuseRepeatedName } from '../file-errors.ts';
import { isOfTheEngine } from '../../child-link/child-errors.ts';

/** What a Parquet file records about its columns beyond their DuckDB types. */
interface ParquetHints {
  /** The column names in the file. */
  readonly names: readonly string[];
  /** All leaf columns, in order. */
  readonly leaves: readonly ParquetLeaf[];
  /** The fields of the original Arrow schema. */
  readonly arrow: readonly Field[];
  /** The unit for deprecated INT96 timestamps. */
  readonly int96Unit: Int96Unit;
}

/** A column of a foreign Parquet file: its field in the frame, and how to read it. */
interface ParquetColumn {
  readonly field: Field;
  readonly column: ForeignColumn;
}

interface Part extends Required<Omit<ForeignColumn, 'name'>> {
  readonly field: Field;
}

/**
 * Returns the exact columns of a foreign Parquet file: DuckDB's types, refined by the hints. An Arrow field counts only
 * if the values in the file can have its type.
 */
function parquetColumns(found: ChildResponses['inspect'], hints: ParquetHints): readonly ParquetColumn[] {
  let next = 0;

  function part(name: string, type: DuckType, arrow: Field | undefined, title: string): Part {
    if ('item' in type) {
      const item = part('item', type.item, childOf(arrow, 0), title);
      return {
        field: new Field(name, new List(item.field), true),
        sqlType: `${item.sqlType}[]`,
        viewType: `${item.viewType}[]`,
        get: { kind: 'list', isMap: false, item: item.get },
      };
    }
    if ('key' in type) return mapPart(name, type, arrow, title);
    if ('fields' in type) {
      const names = memberNames(type.fields, arrow);
      const members = type.fields.map((member, i) => part(names[i] ?? '', member.type, childOf(arrow, i), title));
      const structType = (types: readonly string[]): string =>
        `STRUCT(${type.fields.map((member, i) => `${sqlName(member.name)} ${types[i]}`).join(', ')})`;
      return {
        field: new Field(name, new Struct(members.map(({ field }) => field)), true),
        sqlType: structType(members.map(({ sqlType }) => sqlType)),
        viewType: structType(members.map(({ viewType }) => viewType)),
        get: { kind: 'struct', fields: members.map(({ get }) => get) },
      };
    }
    const leaf = hints.leaves[next++] ?? { kind: 'plain' };
    return leafPart({ name, type, leaf, arrow: arrow && typeOf(arrow), title, int96Unit: hints.int96Unit });
  }

  function mapPart(
    name: string,
    type: Extract<DuckType, { key: DuckType }>,
    arrow: Field | undefined,
    title: string,
  ): Part {
    const entries = childOf(arrow, 0);
    const key = part('key', type.key, childOf(entries, 0), title);
    const value = part('value', type.value, childOf(entries, 1), title);
    return {
      field: new Field(name, mapOf(key.field, value.field), true),
      sqlType: `MAP(${key.sqlType}, ${value.sqlType})`,
      viewType: `MAP(${key.viewType}, ${value.viewType})`,
      get: { kind: 'list', isMap: true, item: { kind: 'struct', fields: [key.get, value.get] } },
    };
  }

  return found.map(({ name, type }, i) => {
    const title = hints.names[i] ?? name;
    const { field, ...column } = part(title, type, hints.arrow[i], title);
    return { field, column: { name, ...column } };
  });
}

/** Restores member names from the Arrow field: DuckDB numbers names if they differ only in case. */
function memberNames(members: readonly { readonly name: string }[], arrow: Field | undefined): readonly string[] {
  const children = arrow === undefined ? [] : childrenOf(arrow);
  const names = children.map(({ name }) => name);
  const isSame = uniqueNames(names).join('\0') === members.map(({ name }) => name).join('\0');
  return isSame ? names : members.map(({ name }) => name);
}

function childOf(field: Field | undefined, i: number): Field | undefined {
  return field && childrenOf(field)[i];
}

interface LeafHints {
  readonly name: string;
  readonly type: DuckType;
  readonly leaf: ParquetLeaf;
  readonly arrow: DataType | undefined;
  /** The name of its top-level column. */
  readonly title: string;
  readonly int96Unit: Int96Unit;
}

function leafPart({ name, type, leaf, arrow, title, int96Unit }: LeafHints): Part {
  const zone = arrow !== undefined && DataType.isTimestamp(arrow) ? arrow.timezone : undefined;
  switch (leaf.kind) {
    case 'decimal':
      return decimalPart(name, type, leaf, title);
    case 'int96': {
      const unit = int96Unit === 'nanos' ? TimeUnit.NANOSECOND : TimeUnit.MICROSECOND;
      const get: GetPlan = { kind: 'int96', unit: int96Unit, title };
      return {
        field: new Field(name, new Timestamp(unit, zone || null), true),
        sqlType: 'BLOB',
        viewType: 'BLOB',
        get,
      };
    }
    case 'utc_nanos':
      return readAs(new Field(name, new Timestamp(TimeUnit.NANOSECOND, zone || 'UTC'), true));
    case 'legacy_utc': {
      const field = new Field(name, new Timestamp(TimeUnit.MICROSECOND, zone || 'UTC'), true);
      if (type.name !== 'TIMESTAMP') return readAs(field);
      // The same 64 bits.
      const local = readAs(new Field(name, new Timestamp(TimeUnit.MICROSECOND), true));
      return { ...local, field, viewType: 'TIMESTAMPTZ' };
    }
    case 'null':
      return readAs(new Field(name, new Utf8(), true));
    case 'plain':
      return readAs(arrowField(name, type, arrow, zone) ?? fieldFromDuckdb(name, type));
    default:
      return leaf satisfies never;
  }
}

function readAs(field: Field): Part {
  const column = foreignColumn(field);
  return { field, ...column, viewType: column.sqlType };
}

/** Returns the field for the Arrow type of a column if DuckDB's type holds the same values, or undefined. */
function arrowField(
  name: string,
  { name: duckdb }: DuckType,
  arrow: DataType | undefined,
  zone: string | null | undefined,
): Field | undefined {
  if (arrow === undefined) return undefined;
  if (duckdb === 'BIGINT' && DataType.isDuration(arrow) && arrow.unit in TimeUnit)
    return new Field(name, new Duration(arrow.unit), true);
  if (duckdb === 'TIMESTAMP_TZ' && zone) return new Field(name, new Timestamp(TimeUnit.MICROSECOND, zone), true);
  if (duckdb === 'VARCHAR' && DataType.isDictionary(arrow) && isText(valueTypeOf(arrow))) {
    return new Field(name, new Utf8(), true, new Map([[TYPE_METADATA_KEY, 'SYMBOL']]));
  }
  return undefined;
}

function isText(type: DataType): boolean {
  return DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isUtf8View(type);
}

/** The most digits of a 256-bit decimal. */
const MAX_PRECISION = 76;

function decimalPart(
  name: string,
  { name: duckdb }: DuckType,
  { precision, scale }: Extract<ParquetLeaf, { kind: 'decimal' }>,
  title: string,
): Part {
  if (precision > MAX_PRECISION || scale < 0 || scale > precision || duckdb !== 'BLOB') {
    const message = `Column ${quoted(title)} has the Parquet type DECIMAL(${precision},${scale}), which this server does not support.`;
    throw new ServiceError('invalid_data', message, {
      hint: `Cast it to a decimal of at most ${MAX_PRECISION} digits, or to a string.`,
    });
  }
  return {
    field: new Field(name, new Decimal(scale, precision, 256), true),
    sqlType: 'BLOB',
    viewType: 'BLOB',
    get: { kind: 'decimal_bytes', title },
  };
}

/** A foreign Parquet file. */
interface FoundParquet {
  readonly path: string;
  /** The columns with their DuckDB types. */
  readonly found: ChildResponses['inspect'];
  readonly footer: ParquetFooter;
  /** The unit for deprecated INT96 timestamps. Default: the one in the Arrow schema of the file, or microseconds. */
  readonly int96Unit?: Int96Unit | undefined;
}

/** Describes a foreign Parquet file, except for the number of rows. */
export async function describeParquet(
  engine: FileChild,
  { path, found, footer, int96Unit }: FoundParquet,
  signal?: AbortSignal,
): Promise<SourceInfo> {
  const { names, leaves } = footer;
  refuseRepeatedName('Parquet', names, 'Give every column a unique name.');
  const isKnown = names.length === found.length && leaves.length === leavesOf(found.map(({ type }) => type));
  // If DuckDB sees other columns than the footer has, values would be read with the wrong types.
  if (!isKnown && !footer.isExact)
    throw new ServiceError('invalid_data', 'The schema of the Parquet file cannot be read.', { hint: DAMAGED });
  const arrow = isKnown ? await arrowFields(engine, path, names, signal) : [];
  const columns = parquetColumns(found, {
    names: isKnown ? names : [],
    leaves: isKnown ? leaves : [],
    arrow,
    int96Unit: int96Unit ?? (arrow.some(hasNanos) ? 'nanos' : 'micros'),
  });
  const schema = new Schema(columns.map(({ field }) => field));
  checkSchema(schema);
  return { schema, rows: 0, isForeign: true, foreignColumns: columns.map(({ column }) => column) };
}

function leavesOf(types: readonly DuckType[]): number {
  return types.reduce((sum, type) => {
    if ('item' in type) return sum + leavesOf([type.item]);
    if ('key' in type) return sum + leavesOf([type.key, type.value]);
    return sum + ('fields' in type ? leavesOf(type.fields.map((field) => field.type)) : 1);
  }, 0);
}

function hasNanos(field: Field): boolean {
  const type = typeOf(field);
  if (DataType.isTimestamp(type)) return type.unit === TimeUnit.NANOSECOND;
  return childrenOf(field).some(hasNanos);
}

/** The metadata key of Arrow libraries for the original schema: an IPC message in base64. */
const ARROW_KEY = 'ARROW:schema';
const MAX_SCHEMA_BYTES = 16 * 1024 * 1024;
/** The marker at the start of an IPC message, before its length. */
const CONTINUATION = 0xffffffff;

/** Returns the fields of the Arrow schema in the file; none if it has no schema, or another one. */
async function arrowFields(
  engine: FileChild,
  path: string,
  names: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly Field[]> {
  const sql = `SELECT decode(value) FROM parquet_kv_metadata(${globFree(path)})
    WHERE key = '${ARROW_KEY}'::BLOB AND octet_length(value) <= ${MAX_SCHEMA_BYTES} LIMIT 1`;
  // Arrow libraries write text: ignore other values.
  const [[text] = []] = await engine.call({ op: 'texts', sql }, signal).catch((error: unknown) => {
    if (isOfTheEngine(error)) throw error;
    return [];
  });
  if (typeof text !== 'string') return [];
  const message = Buffer.from(text, 'base64');
  if (message.length < 8) return [];
  const start = message.readUInt32LE(0) === CONTINUATION ? 8 : 4;
  try {
    const { fields } = uncheckedSchemaFromUpload(message.subarray(start));
    return fields.length === names.length && fields.every(({ name }, i) => name === names[i]) ? fields : [];
  } catch (error) {
    if (error instanceof ServiceError) return [];
    throw error;
  }
}
