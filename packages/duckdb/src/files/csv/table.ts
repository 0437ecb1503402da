import type { Field } from 'apache-arrow';
import { type CsvType, type FloatChecks, isFloat } from './types.ts';
import type { ChildResponses } from '../../wire/requests.ts';
import { sqlText } from '../../wire/sql-names.ts';

/** A column of a CSV file. */
export interface CsvColumn {
  /** The column of the frame. */
  readonly field: Field;
  readonly type: CsvType;
  /** Other types for the column, if a value does not fit `type`; undefined if its type is declared. */
  readonly otherTypes?: readonly CsvType[];
  /** True if all values are known to fit `type`. */
  readonly isVerified: boolean;
  /** True if `type` is a float and a value may be -0. */
  readonly hasNegativeZero: boolean;
}

/** How a CSV file is read as a table. */
export interface CsvTable {
  readonly delimiter: string;
  readonly header: boolean;
  /** The number of empty lines before the first line. */
  readonly skip: number;
  readonly columns: readonly CsvColumn[];
}

/** The name of a column in SQL: those of the frame may be the same but for their case. */
export function csvColumnName(index: number): string {
  return `c${index}`;
}

const INEXACT = 'svc: a value of the CSV file does not fit column';

/** Returns the index of the column of a misfit value from the message of an error; undefined for other errors. */
export function inexactColumn(message: string): number | undefined {
  const index = new RegExp(`^[A-Z][\\w ]* Error: ${INEXACT} (\\d+)$`).exec(message)?.[1];
  return index === undefined ? undefined : Number(index);
}

/** True if a value of a table may be -0. */
export function mayHaveNegativeZero({ columns }: CsvTable): boolean {
  return columns.some(({ hasNegativeZero }) => hasNegativeZero);
}

/** SQL for the rows of a table, from SQL for its texts. An inexact value is an error of its column. */
export function typedRowsSql(table: CsvTable, texts: string): string {
  const { columns } = table;
  const names = columns.map((_, i) => csvColumnName(i));
  const checks: FloatChecks = { allowNegativeZero: mayHaveNegativeZero(table) };
  // A value is used twice, but computed once.
  const values = columns.map(({ type }, i) => `${names[i]}, ${type.valueOf(names[i] ?? '')} AS v${i}`);
  const guarded = columns.map(({ type, isVerified }, i) => {
    const isExact = isVerified ? 'true' : type.isExact(names[i] ?? '', `v${i}`, checks);
    if (isExact === 'true') return `v${i} AS ${names[i]}`;
    return `CASE WHEN ${names[i]} IS NULL THEN NULL WHEN ${isExact} THEN v${i} ELSE error('${INEXACT} ${i}') END AS ${names[i]}`;
  });
  return `SELECT ${guarded.join(', ')} FROM (SELECT ${values.join(', ')} FROM ${texts})`;
}

/** Runs SQL, and returns the texts of its rows. */
export type QueryTexts = (sql: string) => Promise<ChildResponses['texts']>;

/** What the values of a column have in common. */
export interface ColumnEvidence {
  readonly hasValues: boolean;
  /** The candidate types of all values. */
  readonly types: readonly CsvType[];
  /** True if one of the types is a float and a value is -0. */
  readonly hasNegativeZero: boolean;
}

/** The first rows of a file. */
interface CsvSample {
  readonly columns: readonly ColumnEvidence[];
  /** True if these are all rows. */
  readonly isWhole: boolean;
}

/** The most rows, and about the most values, of a sample. */
const SAMPLED_ROWS = 20_480;
const SAMPLED_VALUES = 130_000;
const MIN_SAMPLED_ROWS = 100;

const ANY_ZERO = { allowNegativeZero: true };

/**
 * Finds the types of the first rows, at most `maxRows` of them, among the candidates. `texts` is SQL for the texts of all
 * columns.
 */
export async function sampleTypes(
  query: QueryTexts,
  texts: string,
  columns: number,
  types: readonly CsvType[],
  maxRows = SAMPLED_ROWS,
): Promise<CsvSample> {
  const limit = Math.max(MIN_SAMPLED_ROWS, Math.min(maxRows, Math.floor(SAMPLED_VALUES / columns)));
  const names = Array.from({ length: columns }, (_, i) => csvColumnName(i));
  const found = await evidenceOfValues(query, `(SELECT * FROM ${texts} LIMIT ${limit})`, names, types);
  return { columns: found.columns, isWhole: found.rows < limit };
}

/** Finds the types of each text among the candidates. */
export async function typesOfTexts(
  query: QueryTexts,
  texts: readonly string[],
  types: readonly CsvType[],
): Promise<readonly (readonly CsvType[])[]> {
  const rows = await query(evidenceSql(texts.map(sqlText), types));
  const found = texts.map((): readonly CsvType[] => []);
  for (const [index, , hasNegativeZero = null, ...flags] of rows) {
    found[Number(index)] = evidence(types, flags, hasNegativeZero).types;
  }
  return found;
}

/** Tests the values of each column (SQL) for all of the types, and counts the rows. */
async function evidenceOfValues(
  query: QueryTexts,
  texts: string,
  names: readonly string[],
  types: readonly CsvType[],
): Promise<CsvEvidence> {
  const columns = names.map(() => withoutValues(types));
  let rows = 0;
  // The texts of one more column count the rows.
  for (const found of await query(evidenceSql([...names, "'row'"], types, `FROM ${texts}`))) {
    const [column, count, hasNegativeZero = null, ...flags] = found;
    if (Number(column) === names.length) rows = Number(count);
    else columns[Number(column)] = evidence(types, flags, hasNegativeZero);
  }
  return { rows, columns };
}

/**
 * SQL for the evidence about each of the texts (also SQL). One row for each value: with an expression for each
 * column and type, a wide file would take seconds to plan.
 */
function evidenceSql(texts: readonly string[], types: readonly CsvType[], from = ''): string {
  const values = ['i', 't', ...types.map((type, k) => `${candidateValue(type, 't')} AS v${k}`)];
  const fits = types.map(({ isExact }, k) => allSql(isExact('t', `v${k}`, ANY_ZERO)));
  const found = ['i::VARCHAR', 'count(*)::VARCHAR', negativeZeroSql(types, 't', 'v'), ...fits];
  return `SELECT ${found.join(', ')}
    FROM (SELECT ${values.join(', ')}
      FROM (SELECT unnest([${texts.join(', ')}]) AS t, unnest(range(${texts.length})) AS i ${from})
      WHERE t IS NOT NULL)
    GROUP BY i`;
}

function withoutValues(types: readonly CsvType[]): ColumnEvidence {
  return { hasValues: false, types, hasNegativeZero: false };
}

/** A column and its candidate types. */
interface Candidates {
  readonly index: number;
  readonly types: readonly CsvType[];
}

/** What all rows of a file show. */
interface CsvEvidence {
  readonly rows: number;
  /** In the order of the candidates. */
  readonly columns: readonly ColumnEvidence[];
}

/** The most expressions of a statement about columns: the time to plan it grows with their square. */
const MAX_EXPRESSIONS = 300;

/** Finds the candidates that fit all rows, and counts the rows. */
export async function checkTypes(
  query: QueryTexts,
  texts: string,
  candidates: readonly Candidates[],
): Promise<CsvEvidence> {
  const expressions = candidates.reduce((sum, { types }) => sum + 2 + types.length, 0);
  if (expressions > MAX_EXPRESSIONS) return checkWide(query, texts, candidates);
  const [[count = null, ...flags] = []] = await query(checkSql(texts, candidates));
  let next = 0;
  const columns = candidates.map(({ types }) => {
    const [values = null, hasNegativeZero = null, ...fits] = flags.slice(next, (next += 2 + types.length));
    return values === '0' ? withoutValues(types) : evidence(types, fits, hasNegativeZero);
  });
  return { rows: Number(count), columns };
}

/** The most types of a statement about values: each value is tested for all of them. */
const TYPES_PER_STATEMENT = 10;

/**
 * Checks values rather than columns: a row of 2500 floats takes 1 s, and 36 s with expressions for each column. For a few
 * long columns it takes up to twice as long.
 */
async function checkWide(query: QueryTexts, texts: string, candidates: readonly Candidates[]): Promise<CsvEvidence> {
  const types = new Map(candidates.flatMap((candidate) => candidate.types.map((type) => [sqlOf(type), type])));
  const names = candidates.map(({ index }) => csvColumnName(index));
  const found: CsvEvidence[] = [];
  for (let at = 0; at === 0 || at < types.size; at += TYPES_PER_STATEMENT) {
    const some = [...types.values()].slice(at, at + TYPES_PER_STATEMENT);
    found.push(await evidenceOfValues(query, texts, names, some));
  }
  const columns = candidates.map((candidate, i) => {
    const parts = found.flatMap((part) => part.columns[i] ?? []);
    if (!parts.every(({ hasValues }) => hasValues)) return withoutValues(candidate.types);
    const fitting = new Set(parts.flatMap((part) => part.types.map(sqlOf)));
    return {
      hasValues: true,
      types: candidate.types.filter((type) => fitting.has(sqlOf(type))),
      hasNegativeZero: parts.some(({ hasNegativeZero }) => hasNegativeZero),
    };
  });
  return { rows: found[0]?.rows ?? 0, columns };
}

/** Identifies a type: those of formats and decimals are made for each column. */
function sqlOf({ valueOf, isExact }: CsvType): string {
  return `${valueOf('t')} ${isExact('t', 'v', ANY_ZERO)}`;
}

function checkSql(texts: string, candidates: readonly Candidates[]): string {
  const values = candidates.flatMap(({ index, types }) => {
    const text = csvColumnName(index);
    return [text, ...types.map((type, k) => `${candidateValue(type, text)} AS v${index}_${k}`)];
  });
  const found = candidates.flatMap(({ index, types }) => {
    const text = csvColumnName(index);
    const fits = types.map(({ isExact }, k) => allSql(isExact(text, `v${index}_${k}`, ANY_ZERO), text));
    return [`count(${text})::VARCHAR`, negativeZeroSql(types, text, `v${index}_`), ...fits];
  });
  const list = values.length === 0 ? 'true' : values.join(', ');
  return `SELECT ${['count(*)::VARCHAR', ...found].join(', ')} FROM (SELECT ${list} FROM ${texts})`;
}

/** SQL: true if all texts are exact. */
function allSql(isExact: string, text = 't'): string {
  return isExact === 'true' ? "'true'" : `bool_and(${text} IS NULL OR coalesce(${isExact}, false))::VARCHAR`;
}

/** SQL for the value of a text of any type. */
function candidateValue({ mayFit, valueOf }: CsvType, text: string): string {
  const test = mayFit(text);
  return test === 'true' ? valueOf(text) : `CASE WHEN ${test} THEN ${valueOf(text)} END`;
}

/** SQL: true if a text is -0 and one of the types is a float. `prefix` starts the names of the values. */
function negativeZeroSql(types: readonly CsvType[], text: string, prefix: string): string {
  const float = types.findIndex(isFloat);
  return float < 0 ? 'NULL' : `bool_or(${prefix}${float} = 0 AND starts_with(${text}, '-'))::VARCHAR`;
}

function evidence(
  types: readonly CsvType[],
  fits: readonly (string | null)[],
  hasNegativeZero: string | null,
): ColumnEvidence {
  return {
    hasValues: true,
    types: types.filter((_, k) => fits[k] === 'true'),
    hasNegativeZero: hasNegativeZero === 'true',
  };
}
