import { ServiceError } from '@svc/errors';
import { counted } from '@svc/errors/internal';
import { columnInfo } from '@svc/frames';
import { createYield, declaredField } from '@svc/frames/internal';
import { DataType, type Field, Schema } from 'apache-arrow';
import { checkedName } from './csv-arguments.ts';
import { readExcerpts } from './csv-excerpts.ts';
import { inexactValue } from './csv-faults.ts';
import { hasHeader } from './csv-header.ts';
import { type CsvFormats, formattedType, formattedTypes } from './csv-formats.ts';
import { checkTypes, type ColumnEvidence, type QueryTexts, sampleTypes } from './csv-inference.ts';
import type { CsvHead } from './csv-sniffer.ts';
import { type CsvColumn, csvColumnName, type CsvTable } from './csv-table.ts';
import { type CsvType, declaredType, INFERRED_TYPES, isFloat, NULLS, TEXT } from './csv-types.ts';
import type { SourceInfo } from './frame-files.ts';
import { refuseRepeatedName } from './refuse-repeated-name.ts';
import { csvTextsSql, type CsvSource } from './source-sql.ts';
import { fieldFromDuckdb, foreignColumn } from '../types/duckdb-types.ts';
import { storedColumn } from '../types/stored-types.ts';
import { ChildError, isOfTheEngine } from '../engine/child-errors.ts';
import { uniqueNames } from '../wire/sql-names.ts';

/** With more columns, all rows are checked before they are written: the checks of one statement take too much memory. */
const MAX_GUARDED_COLUMNS = 500;

/** Runs SQL over CSV files. */
export interface CsvReader {
  readonly query: QueryTexts;
  /** Saves a text to a file, which is removed after the work. */
  withFile<T>(text: Uint8Array, work: (path: string) => Promise<T>): Promise<T>;
}

/**
 * Detects how a CSV file is read as a table. Its types fit the first rows, and are not verified unless those are all rows
 * or there are very many columns. A column whose later values look different gets its type from all rows.
 */
export async function detectCsvTable(reader: CsvReader, source: CsvSource, head: CsvHead): Promise<CsvTable> {
  const { query } = reader;
  const { delimiter, skip } = head;
  // A format that a client gives takes precedence: 20240102 is a date if it has the format of one.
  const inferredTypes = [...formattedTypes(source), ...INFERRED_TYPES];
  const header = source.header ?? (isFrameHeader(source, head) || (await detectHeader(query, source, head)));
  // With thousands of columns, each of these steps takes milliseconds.
  const pause = createYield();
  await pause();
  const names = columnNames(source, head, header);
  const declared = declaredColumns(source, names);
  const texts = csvTextsSql(source, { delimiter, skip, header, columns: names });
  const isInferred = declared.includes(undefined);
  const sample = isInferred ? await sampleTypes(query, texts, names.length, inferredTypes) : undefined;
  await pause();
  const isVerified = sample?.isWhole === true;
  const columns = names.map((name, i): CsvColumn => {
    const known = declared[i];
    if (known !== undefined) return known;
    const { hasValues = false, types = inferredTypes, hasNegativeZero = false } = sample?.columns[i] ?? {};
    const [type = TEXT, ...otherTypes] = hasValues ? types : [NULLS, ...types];
    return { ...inferredColumn(name, type, otherTypes), isVerified, hasNegativeZero: isFloat(type) && hasNegativeZero };
  });
  await pause();
  const table = { delimiter, skip, header, columns };
  if (isVerified || sample === undefined) return table;
  if (columns.length > MAX_GUARDED_COLUMNS) return (await verifyCsvTable(query, source, table)).table;
  return settleColumns(query, source, table, await doubtfulColumns(reader, source, table, inferredTypes));
}

/** Finds the columns whose values in later rows do not seem to fit their types. */
async function doubtfulColumns(
  reader: CsvReader,
  source: CsvSource,
  table: CsvTable,
  types: readonly CsvType[],
): Promise<readonly number[]> {
  const { delimiter, columns } = table;
  const excerpts = await readExcerpts(source.path, { delimiter, columns: columns.length });
  if (excerpts === undefined) return [];
  try {
    const { columns: found } = await reader.withFile(excerpts, (path) => {
      const texts = csvTextsSql({ ...source, path }, { ...table, skip: 0, header: false });
      return sampleTypes(reader.query, texts, columns.length, types);
    });
    return columns.flatMap(({ type, otherTypes }, i) => {
      const { hasValues = false, types: fitting = [] } = found[i] ?? {};
      return otherTypes === undefined || type === TEXT || !hasValues || fitting.includes(type) ? [] : [i];
    });
  } catch (error) {
    if (!(error instanceof ChildError) || isOfTheEngine(error)) throw error;
    // Lines inside quotes need not be CSV.
    return [];
  }
}

/**
 * Gives some columns the types that all of their values fit. A value that does not fit a declared type is
 * `invalid_data`.
 */
export async function settleColumns(
  query: QueryTexts,
  source: CsvSource,
  table: CsvTable,
  indexes: readonly number[],
): Promise<CsvTable> {
  if (indexes.length === 0) return table;
  const candidates = indexes.map((index) => {
    const { type = TEXT, otherTypes = [] } = table.columns[index] ?? {};
    return { index, types: type === NULLS ? otherTypes : [type, ...otherTypes] };
  });
  const found = await checkTypes(query, csvTextsSql(source, table), candidates);
  const evidence = new Map(indexes.map((index, i) => [index, found.columns[i]]));
  const columns = table.columns.map((column, i) => settledColumn(column, evidence.get(i)));
  if (columns.includes(undefined)) throw await inexactValue(query, source, table);
  return { ...table, columns: columns.flatMap((column) => column ?? []) };
}

/** Returns a column with the type that its values fit; undefined if they do not fit its declared type. */
function settledColumn(column: CsvColumn, evidence: ColumnEvidence | undefined): CsvColumn | undefined {
  if (evidence === undefined) return column;
  const { hasValues, types, hasNegativeZero } = evidence;
  const fitting = hasValues ? types[0] : undefined;
  if (column.otherTypes === undefined && hasValues && fitting === undefined) return undefined;
  const settled = column.otherTypes === undefined ? column : inferredColumn(column.field.name, fitting ?? TEXT, []);
  return { ...settled, isVerified: true, hasNegativeZero: isFloat(settled.type) && hasNegativeZero };
}

/**
 * Checks all values of a file against the types of their columns, and gives those columns other types that they do not
 * fit. A value that does not fit a declared type is `invalid_data`.
 */
export async function verifyCsvTable(
  query: QueryTexts,
  source: CsvSource,
  table: CsvTable,
): Promise<{ readonly table: CsvTable; readonly rows: number }> {
  const checked = table.columns.flatMap(({ type, isVerified }, index) =>
    isVerified || type === TEXT ? [] : [{ index, types: type === NULLS ? [] : [type] }],
  );
  const { columns: found, rows } = await checkTypes(query, csvTextsSql(source, table), checked);
  const evidence = new Map(checked.map(({ index }, i) => [index, found[i]]));
  const failed = new Set(
    [...evidence].flatMap(([index, { hasValues = false, types = [] } = {}]) =>
      hasValues && types.length === 0 ? [index] : [],
    ),
  );
  const columns = table.columns.map((column, i) =>
    failed.has(i) ? column : (settledColumn(column, evidence.get(i)) ?? column),
  );
  return { table: await settleColumns(query, source, { ...table, columns }, [...failed]), rows };
}

/** The description of a table, except for the number of rows. */
export function csvInfo(table: CsvTable): SourceInfo {
  const fields = table.columns.map(({ field }) => field);
  for (const field of fields) columnInfo(field);
  const foreignColumns = fields.map((field, i) => ({ name: csvColumnName(i), ...foreignColumn(field) }));
  return { schema: new Schema(fields), rows: 0, isForeign: true, foreignColumns, csvTable: table };
}

/** Whether the first line of appended rows has the names of columns of the frame. If not, it may hold values. */
function isFrameHeader({ addedTo, columns }: CsvSource, { firstLine }: CsvHead): boolean {
  if (addedTo === undefined || columns !== undefined || firstLine === undefined) return false;
  const names = new Set(addedTo.names);
  return firstLine.every((name) => names.has(name));
}

function detectHeader(query: QueryTexts, source: CsvSource, head: CsvHead): Promise<boolean> {
  const names = (source.columns ?? []).map(({ name }) => name);
  const declared = declaredColumns(source, names).map((column) => column?.type);
  return hasHeader(query, source, head, declared);
}

function columnNames({ columns }: CsvSource, head: CsvHead, header: boolean): readonly string[] {
  if (columns !== undefined) {
    if (columns.length === head.columns) return columns.map(({ name }) => checkedName(name));
    throw new ServiceError(
      'invalid_data',
      `The CSV file has ${counted(head.columns, 'column')}, but ${columns.length} ${columns.length === 1 ? 'was' : 'were'} named.`,
      {
        hint: 'Name every column, in the order of the file.',
      },
    );
  }
  const line = (header ? head.firstLine : undefined) ?? Array.from({ length: head.columns }, () => '');
  const given = line.filter((name) => name !== '');
  refuseRepeatedName('CSV', given, 'Give every column a unique name, in the file or with ?columns=.');
  const missing = line.flatMap((name, i) => (name === '' ? [`column${i}`] : []));
  const unique = uniqueNames([...given, ...missing]).slice(given.length);
  return line.map((name) => (name === '' ? (unique.shift() ?? '') : name));
}

/** Returns the columns with a type that the client declares, or the frame that the rows are appended to. */
function declaredColumns(source: CsvSource, names: readonly string[]): readonly (CsvColumn | undefined)[] {
  const { columns, addedTo } = source;
  const ofFrame = new Map(addedTo?.fields.map((field) => [field.name, field]));
  return names.map((name, index) => {
    const type = columns?.[index]?.type;
    const field = type === undefined ? ofFrame.get(name) : declaredField(name, type);
    const known = field && csvTypeOf(field, source);
    return known && { field: nullable(field), type: known, isVerified: false, hasNegativeZero: false };
  });
}

/** Returns how values of a field are written in CSV; undefined if there is no such form. */
function csvTypeOf(field: Field, formats: CsvFormats): CsvType | undefined {
  const { get } = storedColumn(field);
  const isLong128 = columnInfo(field).type === 'LONG128';
  const isOfSql = get.kind === 'bits' || get.kind === 'copy' || get.kind === 'decimal' || get.kind === 'uuid';
  const isText = get.kind === 'bytes' && get.isText;
  if (DataType.isDuration(field.type) || !(isLong128 || isOfSql || isText)) return undefined;
  const { sqlType } = foreignColumn(field);
  return formattedType(sqlType, formats) ?? declaredType(sqlType);
}

function nullable(field: Field): Field {
  return field.clone({ nullable: true });
}

/** DuckDB's names of types where they differ from those in SQL. */
const DUCK_NAMES: Readonly<Record<string, string>> = { TIMESTAMPTZ: 'TIMESTAMP_TZ' };

function inferredColumn(name: string, type: CsvType, otherTypes: readonly CsvType[]): CsvColumn {
  const field = fieldFromDuckdb(name, { name: DUCK_NAMES[type.sqlType] ?? type.sqlType });
  return { field, type, otherTypes, isVerified: false, hasNegativeZero: false };
}
