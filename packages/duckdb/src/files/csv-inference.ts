import type { ChildResponses } from '../wire/file-requests.ts';
import { sqlText } from '../wire/sql-names.ts';
import { csvColumnName } from './csv-table.ts';
import { type CsvType, isFloat } from './csv-types.ts';

/** Runs SQL, and returns the texts of its rows. */
export type QueryTexts = (sql: string) => Promise<ChildResponses['texts']>;

/** What the values of a column have in common. */
export interface ColumnEvidence {
  readonly hasValues: boolean;
  /** Those of the types asked about that all values fit. */
  readonly types: readonly CsvType[];
  /** Whether a value is -0, if one of the types is a float. */
  readonly hasNegativeZero: boolean;
}

/** The first rows of a file. */
export interface CsvSample {
  readonly columns: readonly ColumnEvidence[];
  /** Whether these are all rows. */
  readonly isWhole: boolean;
}

/** The most rows, and about the most values, of a sample. */
const SAMPLED_ROWS = 20_480;
const SAMPLED_VALUES = 130_000;
const MIN_SAMPLED_ROWS = 100;

const ANY_ZERO = { allowNegativeZero: true };

/**
 * Finds those of the types that the first rows fit, at most `maxRows` of them. `texts` is SQL for the texts of all
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
  // The texts of one more column count the rows.
  const rows = await query(evidenceSql([...names, "'row'"], types, `FROM (SELECT * FROM ${texts} LIMIT ${limit})`));
  const found = names.map(() => withoutValues(types));
  let isWhole = true;
  for (const [column, count, hasNegativeZero = null, ...flags] of rows) {
    if (Number(column) === columns) isWhole = Number(count) < limit;
    else found[Number(column)] = evidence(types, flags, hasNegativeZero);
  }
  return { columns: found, isWhole };
}

/** Finds those of the types that each of the texts fits. */
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

/**
 * SQL for the evidence about each of the texts, which are SQL, too. One row for each value: with an expression for each
 * column and type, a wide file would take seconds to plan.
 */
function evidenceSql(texts: readonly string[], types: readonly CsvType[], from = ''): string {
  const values = types.map((type, k) => `${candidateValue(type, 't')} AS v${k}`);
  const fits = types.map(({ isExact }, k) => allSql(isExact('t', `v${k}`, ANY_ZERO)));
  return `SELECT i::VARCHAR, count(*)::VARCHAR, ${negativeZeroSql(types, 't', 'v')}, ${fits.join(', ')}
    FROM (SELECT i, t, ${values.join(', ')}
      FROM (SELECT unnest([${texts.join(', ')}]) AS t, unnest(range(${texts.length})) AS i ${from})
      WHERE t IS NOT NULL)
    GROUP BY i`;
}

function withoutValues(types: readonly CsvType[]): ColumnEvidence {
  return { hasValues: false, types, hasNegativeZero: false };
}

/** A column, and types that it may have. */
export interface Candidates {
  readonly index: number;
  readonly types: readonly CsvType[];
}

/** What all rows of a file show. */
export interface CsvEvidence {
  readonly rows: number;
  /** In the order of the candidates. */
  readonly columns: readonly ColumnEvidence[];
}

/** The most expressions of one statement: the time to plan it grows with their square. */
const EXPRESSIONS_PER_STATEMENT = 1000;

/** Finds which of the candidates all rows fit, and counts the rows. */
export async function checkTypes(
  query: QueryTexts,
  texts: string,
  candidates: readonly Candidates[],
): Promise<CsvEvidence> {
  const columns: ColumnEvidence[] = [];
  let rows = 0;
  let at = 0;
  do {
    const first = at;
    for (let expressions = 0; at < candidates.length && expressions < EXPRESSIONS_PER_STATEMENT; at++) {
      expressions += 2 + (candidates[at]?.types.length ?? 0);
    }
    const some = candidates.slice(first, at);
    const [[count = null, ...flags] = []] = await query(checkSql(texts, some));
    rows = Number(count);
    let next = 0;
    for (const { types } of some) {
      const [values = null, hasNegativeZero = null, ...fits] = flags.slice(next, (next += 2 + types.length));
      columns.push(values === '0' ? withoutValues(types) : evidence(types, fits, hasNegativeZero));
    }
  } while (at < candidates.length);
  return { rows, columns };
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

/** SQL for whether all texts are exact. */
function allSql(isExact: string, text = 't'): string {
  return isExact === 'true' ? "'true'" : `bool_and(${text} IS NULL OR coalesce(${isExact}, false))::VARCHAR`;
}

/** SQL for the value of a text that may be of another type. */
function candidateValue({ mayFit, valueOf }: CsvType, text: string): string {
  const test = mayFit(text);
  return test === 'true' ? valueOf(text) : `CASE WHEN ${test} THEN ${valueOf(text)} END`;
}

/** SQL for whether a text is -0, if one of the types is a float. `prefix` starts the names of the values. */
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
