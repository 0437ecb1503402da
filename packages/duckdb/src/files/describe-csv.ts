import { stat } from 'node:fs/promises';
import { counted, ServiceError } from '@svc/errors';
import { columnInfo } from '@svc/frames';
import { declaredField } from '@svc/frames/internal';
import { DataType, type Field, Schema } from 'apache-arrow';
import { checkedName } from './csv-arguments.ts';
import { inexactValue } from './csv-faults.ts';
import { type CsvFormats, formattedType, formattedTypes } from './csv-formats.ts';
import { checkTypes, type ColumnEvidence, type QueryTexts, sampleTypes } from './csv-inference.ts';
import type { CsvHead } from './csv-sniffer.ts';
import { type CsvColumn, csvColumnName, type CsvTable } from './csv-table.ts';
import { type CsvType, declaredType, INFERRED_TYPES, isFloat, NULLS, TEXT } from './csv-types.ts';
import type { SourceInfo } from './frame-files.ts';
import { refuseRepeatedName } from './refuse-repeated-name.ts';
import { csvTextsSql, type CsvSource, csvSniffSql } from './source-sql.ts';
import { fieldFromDuckdb, foreignColumn } from '../types/duckdb-types.ts';
import { storedColumn } from '../types/stored-types.ts';
import { uniqueNames } from '../wire/sql-names.ts';

/** With more columns, all rows are checked before they are written: the checks of one statement take too much memory. */
const MAX_GUARDED_COLUMNS = 500;

/**
 * Detects how a CSV file is read as a table. Its types fit the first rows, and are not verified unless those are all rows
 * or there are very many columns.
 */
export async function detectCsvTable(query: QueryTexts, source: CsvSource, head: CsvHead): Promise<CsvTable> {
  await refuseEmptyFile(source.path);
  const { delimiter } = head;
  // A format that a client gives takes precedence: 20240102 is a date if it has the format of one.
  const inferredTypes = [...formattedTypes(source), ...INFERRED_TYPES];
  const header = source.header ?? (isFrameHeader(source, head) || (await hasHeader(query, source, head)));
  const names = columnNames(source, head, header);
  const declared = names.map((name, i) => declaredColumn(source, name, i));
  const texts = csvTextsSql(source, { delimiter, header, columns: names });
  const isInferred = declared.includes(undefined);
  const sample = isInferred ? await sampleTypes(query, texts, names.length, inferredTypes) : undefined;
  const columns = names.map((name, i): CsvColumn => {
    const known = declared[i];
    if (known !== undefined) return known;
    const { hasValues = false, types = inferredTypes } = sample?.columns[i] ?? {};
    const [type = TEXT, ...otherTypes] = hasValues ? types : [NULLS, ...types];
    return inferredColumn(name, type, otherTypes);
  });
  const table = {
    delimiter,
    header,
    columns,
    isVerified: sample?.isWhole === true && declared.every((column) => column === undefined),
    hasNegativeZero: columns.some(({ type }, i) => isFloat(type) && sample?.columns[i]?.hasNegativeZero === true),
  };
  if (table.isVerified || columns.length <= MAX_GUARDED_COLUMNS) return table;
  return (await verifyCsvTable(query, source, table)).table;
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
  const { columns, delimiter, header } = table;
  const texts = csvTextsSql(source, { delimiter, header, columns });
  const checked = columns.flatMap(({ type }, index) =>
    type === TEXT ? [] : [{ index, types: type === NULLS ? [] : [type] }],
  );
  const first = await checkTypes(query, texts, checked);
  const found = new Map<number, ColumnEvidence | undefined>(checked.map(({ index }, i) => [index, first.columns[i]]));
  const failed = columns.flatMap(({ type, otherTypes }, index) => {
    const { hasValues = false, types = [type] } = found.get(index) ?? {};
    return types.length > 0 || !hasValues ? [] : [{ index, types: otherTypes }];
  });
  if (failed.some(({ types }) => types === undefined)) throw await inexactValue(query, source, table);
  const others = failed.map(({ index, types = [] }) => ({ index, types }));
  const second = others.length === 0 ? undefined : await checkTypes(query, texts, others);
  for (const [i, { index }] of others.entries()) found.set(index, second?.columns[i]);
  const settled = columns.map((column, i): CsvColumn => {
    const evidence = found.get(i);
    if (evidence === undefined || column.otherTypes === undefined) return column;
    return inferredColumn(column.field.name, evidence.hasValues ? (evidence.types[0] ?? TEXT) : TEXT, []);
  });
  const hasNegativeZero = settled.some(({ type }, i) => isFloat(type) && found.get(i)?.hasNegativeZero === true);
  return { table: { ...table, columns: settled, isVerified: true, hasNegativeZero }, rows: first.rows };
}

/** The description of a table, except for the number of rows. */
export function csvInfo(table: CsvTable): SourceInfo {
  const fields = table.columns.map(({ field }) => field);
  for (const field of fields) columnInfo(field);
  const foreignColumns = fields.map((field, i) => ({ name: csvColumnName(i), ...foreignColumn(field) }));
  return { schema: new Schema(fields), rows: 0, isForeign: true, foreignColumns, csvTable: table };
}

async function refuseEmptyFile(path: string): Promise<void> {
  if ((await stat(path)).size > 0) return;
  throw new ServiceError('invalid_data', 'The CSV file is empty.', { hint: 'Send at least a header line.' });
}

/** Whether the first line of appended rows has the names of columns of the frame. If not, it may hold values. */
function isFrameHeader({ addedTo, columns }: CsvSource, { firstLine }: CsvHead): boolean {
  if (addedTo === undefined || columns !== undefined || firstLine === undefined) return false;
  const names = new Set(addedTo.names);
  return firstLine.every((name) => names.has(name));
}

async function hasHeader(query: QueryTexts, source: CsvSource, { delimiter }: CsvHead): Promise<boolean> {
  const [[header] = []] = await query(csvSniffSql(source, delimiter));
  return header === 'true';
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

/** Returns a column whose type is declared by the client, or by the frame that the rows are appended to. */
function declaredColumn(source: CsvSource, name: string, index: number): CsvColumn | undefined {
  const { columns, addedTo } = source;
  const type = columns?.[index]?.type;
  const field = type === undefined ? addedTo?.fields.find((one) => one.name === name) : declaredField(name, type);
  const known = field && csvTypeOf(field, source);
  return known && { field: nullable(field), type: known };
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
  return { field, type, otherTypes };
}
