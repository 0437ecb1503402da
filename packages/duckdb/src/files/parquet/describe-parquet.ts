import { ServiceError } from '@svc/errors';
import { columnInfo } from '@svc/frames';
import { childrenOf, typeOf, uncheckedSchemaFromUpload } from '@svc/frames/internal';
import { DataType, type Field, Schema, TimeUnit } from 'apache-arrow';
import type { Int96Unit } from '../../wire/column-plans.ts';
import type { ChildResponses } from '../../wire/file-requests.ts';
import type { DuckType } from '../../wire/duck-type.ts';
import type { SourceInfo } from '../frame-files.ts';
import { DAMAGED } from './parquet-faults.ts';
import { parquetColumns } from './parquet-columns.ts';
import type { ParquetFooter } from './parquet-footer.ts';
import type { FileEngine } from '../../engine/file-engine.ts';
import { refuseRepeatedName } from '../refuse-repeated-name.ts';
import { isOfTheEngine } from '../../engine/child-errors.ts';
import { globFree } from '../source-sql.ts';

/** A foreign Parquet file. */
export interface FoundParquet {
  readonly path: string;
  /** The columns with their DuckDB types. */
  readonly found: ChildResponses['inspect'];
  readonly footer: ParquetFooter;
  /** The unit for deprecated INT96 timestamps. Default: the one in the Arrow schema of the file, or microseconds. */
  readonly int96Unit?: Int96Unit | undefined;
}

/** Describes a foreign Parquet file, except for the number of rows. */
export async function describeParquet(
  engine: FileEngine,
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
  for (const { field } of columns) columnInfo(field);
  return {
    schema: new Schema(columns.map(({ field }) => field)),
    rows: 0,
    isForeign: true,
    foreignColumns: columns.map(({ column }) => column),
  };
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

/** The metadata key under which Arrow libraries keep the original schema: an IPC message in base64. */
const ARROW_KEY = 'ARROW:schema';
const MAX_SCHEMA_BYTES = 16 * 1024 * 1024;
/** The marker at the start of an IPC message, before its length. */
const CONTINUATION = 0xffffffff;

/** Returns the fields of the Arrow schema in the file; none if it has no schema, or one that does not match. */
async function arrowFields(
  engine: FileEngine,
  path: string,
  names: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly Field[]> {
  const sql = `SELECT decode(value) FROM parquet_kv_metadata(${globFree(path)})
    WHERE key = '${ARROW_KEY}'::BLOB AND octet_length(value) <= ${MAX_SCHEMA_BYTES} LIMIT 1`;
  // Arrow libraries write text: ignore a value that cannot be decoded.
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
