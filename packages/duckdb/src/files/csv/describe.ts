import { type FileHandle, open } from 'node:fs/promises';
import { ServiceError } from '@svc/errors';
import { counted } from '@svc/errors/internal';
import { columnInfo } from '@svc/frames';
import { createYield } from '@svc/frames/async';
import { checkNames, declaredField } from '@svc/frames/columns';
import { DataType, type Field, Schema } from 'apache-arrow';
import { checkedName, type CsvHead, csvTextsSql } from './dialect.ts';
import { inexactValue } from './faults.ts';
import {
  type CsvFormats,
  type CsvType,
  declaredType,
  formattedType,
  formattedTypes,
  INFERRED_TYPES,
  isFloat,
  NULLS,
  TEXT,
} from './types.ts';
import {
  checkTypes,
  type ColumnEvidence,
  type CsvColumn,
  csvColumnName,
  type CsvTable,
  type QueryTexts,
  sampleTypes,
  typesOfTexts,
} from './table.ts';
import type { CsvSource, SourceInfo } from '../frame-files.ts';
import { refuseRepeatedName } from '../file-errors.ts';
import { fieldFromDuckdb, foreignColumn } from '../../types/duckdb-types.ts';
import { storedColumn } from '../../types/stored-types.ts';
import { ChildError, isOfTheEngine } from '../../child-link/child-errors.ts';
import { uniqueNames } from '../../wire/sql-names.ts';
import { createCsvScanner, LINE_FEED } from './text.ts';

/** With more columns, all rows are checked before they are written: the checks of one statement take too much memory. */
const MAX_GUARDED_COLUMNS = 500;

/** Runs SQL over CSV files. */
export interface CsvReader {
  readonly query: QueryTexts;
  /** Saves a text to a file, and removes it after the work. */
  withFile<T>(text: Uint8Array, work: (path: string) => Promise<T>): Promise<T>;
}

/**
 * Detects how a CSV file is read as a table. Its types fit the first rows, and are not verified unless those are all rows
 * or there are very many columns. A column whose later values look different gets its type from all rows.
 */
export async function detectCsvTable(reader: CsvReader, source: CsvSource, head: CsvHead): Promise<CsvTable> {
  const { query } = reader;
  const { delimiter, skip } = head;
  // A given format takes precedence: 20240102 is a date if it has the format of one.
  const inferredTypes = [...formattedTypes(source), ...INFERRED_TYPES];
  const header = source.header ?? (isFrameHeader(source, head) || (await hasHeader(query, source, head)));
  // With thousands of columns, each of these steps takes milliseconds.
  const pause = createYield();
  await pause();
  const names = columnNames(source, head, header);
  checkNames(names);
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
  if (columns.every((column) => column.isVerified)) return table;
  if (columns.length > MAX_GUARDED_COLUMNS) return (await verifyCsvTable(query, source, table)).table;
  if (isVerified || sample === undefined) return table;
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
 * Settles the types of some columns from all of their values. A value outside its declared type is
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

/** Returns a column with the type of its values; undefined if they do not fit its declared type. */
function settledColumn(column: CsvColumn, evidence: ColumnEvidence | undefined): CsvColumn | undefined {
  if (evidence === undefined) return column;
  const { hasValues, types, hasNegativeZero } = evidence;
  const fitting = hasValues ? types[0] : undefined;
  if (column.otherTypes === undefined && hasValues && fitting === undefined) return undefined;
  const settled = column.otherTypes === undefined ? column : inferredColumn(column.field.name, fitting ?? TEXT, []);
  return { ...settled, isVerified: true, hasNegativeZero: isFloat(settled.type) && hasNegativeZero };
}

/**
 * Checks all values of a file against the types of their columns. A column with values outside its type gets another;
 * if its type is declared, this is `invalid_data`.
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

/** True if the first line of appended rows has names of columns of the frame. If not, it may hold values. */
function isFrameHeader({ addedTo, columns }: CsvSource, { firstLine }: CsvHead): boolean {
  if (addedTo === undefined || columns !== undefined || firstLine === undefined) return false;
  const names = new Set(addedTo.names);
  return firstLine.every((name) => names.has(name));
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

/** Returns the columns with a type declared by the client, or by the frame of appended rows. */
function declaredColumns(source: CsvSource, names: readonly string[]): readonly (CsvColumn | undefined)[] {
  const { columns, addedTo } = source;
  const ofFrame = new Map(addedTo?.fields.map((field) => [field.name, field]));
  return names.map((name, index) => {
    const type = columns?.[index]?.type;
    const field = type === undefined ? ofFrame.get(name) : declaredField(name, type);
    const known = field && csvTypeOf(field, source);
    return known && { field: field.clone({ nullable: true }), type: known, isVerified: false, hasNegativeZero: false };
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

/** DuckDB's names of types where they differ from those in SQL. */
const DUCK_NAMES: Readonly<Record<string, string>> = { TIMESTAMPTZ: 'TIMESTAMP_TZ' };

function inferredColumn(name: string, type: CsvType, otherTypes: readonly CsvType[]): CsvColumn {
  const field = fieldFromDuckdb(name, { name: DUCK_NAMES[type.sqlType] ?? type.sqlType });
  return { field, type, otherTypes, isVerified: false, hasNegativeZero: false };
}

/** The rows to compare the first line with. */
const COMPARED_ROWS = 1000;
/** A longer value is a text. */
const MAX_TYPED_LENGTH = 1000;

/** A value of the first line; not null. */
interface FirstValue {
  readonly column: number;
  readonly text: string;
  /** The types of the value, without those of texts. */
  readonly types: readonly CsvType[];
  readonly isText: boolean;
}

/**
 * True if the first line of a CSV file is a header: a line of texts is, and one with a value that does not fit
 * the values below it. Numbers beside a text are names if they count up or are years.
 */
async function hasHeader(query: QueryTexts, source: CsvSource, head: CsvHead): Promise<boolean> {
  const { delimiter, skip, firstLine = [] } = head;
  const names = (source.columns ?? []).map(({ name }) => name);
  const declared = declaredColumns(source, names).map((column) => column?.type);
  const inferredTypes = [...formattedTypes(source), ...INFERRED_TYPES];
  const knownTypes = declared.flatMap((type) => type ?? []);
  const values = await firstValues(query, firstLine, source.nulls ?? [], inferredTypes, knownTypes);
  if (values.every(({ isText }) => isText)) return values.length > 0;
  if (source.columns === undefined && areNames(values)) return true;
  if (values.some(({ column, types }) => declared[column] && !types.includes(declared[column]))) return true;
  const compared = values.filter(({ column }) => declared[column] === undefined);
  if (compared.length === 0) return false;
  const rows = csvTextsSql(source, { delimiter, skip, header: true, columns: firstLine });
  const below = await sampleTypes(query, rows, firstLine.length, inferredTypes, COMPARED_ROWS);
  return compared.some(({ column, types }) => {
    const { hasValues = false, types: ofColumn = [] } = below.columns[column] ?? {};
    return hasValues && ofColumn.length > 0 && !ofColumn.some((type) => types.includes(type));
  });
}

async function firstValues(
  query: QueryTexts,
  firstLine: readonly string[],
  nulls: readonly string[],
  inferredTypes: readonly CsvType[],
  knownTypes: readonly CsvType[],
): Promise<readonly FirstValue[]> {
  const texts = firstLine.map((text) => (text.length > MAX_TYPED_LENGTH || text.includes('\0') ? 'text' : text));
  const found = await typesOfTexts(query, texts, [...new Set([...inferredTypes, ...knownTypes])]);
  return firstLine.flatMap((text, column) => {
    const types = found[column] ?? [];
    const isText = !inferredTypes.some((type) => types.includes(type));
    return text === '' || nulls.includes(text) ? [] : [{ column, text, types, isText }];
  });
}

const [FIRST_YEAR, LAST_YEAR] = [1900, 2100];

/**
 * True if all values may be names: texts, and numbers as years or counting up. An empty first value stands for a text,
 * as in the files of pandas and R with an index; pandas calls a single column 0.
 */
function areNames(values: readonly FirstValue[]): boolean {
  const hasIndex = values[0]?.column !== 0;
  if (!hasIndex && !values.some(({ isText }) => isText)) return false;
  const others = values.filter(({ isText }) => !isText);
  if (!others.every(({ text }) => /^\d{1,9}$/.test(text))) return false;
  const numbers = others.map(({ text }) => Number(text));
  const steps = numbers.slice(1).map((number, i) => number - (numbers[i] ?? 0));
  const areYears = numbers.every((number) => number >= FIRST_YEAR && number <= LAST_YEAR);
  if (areYears) return steps.every((step) => step > 0);
  return steps.every((step) => step === 1) && (steps.length > 0 || (hasIndex && numbers[0] === 0));
}

/** A shorter file has no excerpts: it is soon read again. */
const MIN_FILE_BYTES = 1024 * 1024;
const EXCERPT_BYTES = 16 * 1024;
/** The number of excerpts before the end of the file. */
const EXCERPTS = 8;

/** What a line of a CSV file looks like. */
interface LineForm {
  readonly delimiter: string;
  readonly columns: number;
}

/**
 * Reads lines from the end of a CSV file and from places before it, the end first; undefined if the file is short or no
 * line is found. A value in quotes may have lines that look like rows, so the excerpts prove nothing.
 */
export async function readExcerpts(path: string, form: LineForm): Promise<Uint8Array | undefined> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size < MIN_FILE_BYTES) return undefined;
    const last = size - EXCERPT_BYTES;
    const excerpts = [await linesAt(file, last, form, true)];
    for (let i = 1; i <= EXCERPTS; i++) {
      excerpts.push(await linesAt(file, Math.floor((i * last) / (EXCERPTS + 1)), form));
    }
    const lines = Buffer.concat(excerpts);
    return lines.length === 0 ? undefined : lines;
  } finally {
    await file.close();
  }
}

/** Reads the complete lines at a position; none if one of them has another number of values. */
async function linesAt(file: FileHandle, position: number, form: LineForm, isEnd = false): Promise<Uint8Array> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(EXCERPT_BYTES + 1), 0, EXCERPT_BYTES, position);
  let end = bytesRead;
  // The last line may have no line end.
  if (isEnd && buffer[end - 1] !== LINE_FEED) buffer[end++] = LINE_FEED;
  const first = buffer.subarray(0, end).indexOf(LINE_FEED) + 1;
  return completeLines(buffer.subarray(first, end), form);
}

const NO_LINES = new Uint8Array(0);

function completeLines(text: Uint8Array, { delimiter, columns }: LineForm): Uint8Array {
  const scanner = createCsvScanner([delimiter]);
  let values = 1;
  let end = 0;
  let isEmpty = true;
  for (const [at, byte] of text.entries()) {
    const token = scanner.next(byte);
    if (token === 'delimiter') values += 1;
    if (token !== 'line_end') isEmpty = false;
    if (token !== 'line_end' || byte !== LINE_FEED) continue;
    if (values !== columns && !isEmpty) return NO_LINES;
    end = at + 1;
    [values, isEmpty] = [1, true];
  }
  return text.subarray(0, end);
}
