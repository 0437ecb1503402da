import { formattedTypes } from './csv-formats.ts';
import { type QueryTexts, sampleTypes, typesOfTexts } from './csv-inference.ts';
import type { CsvHead } from './csv-sniffer.ts';
import { type CsvType, INFERRED_TYPES } from './csv-types.ts';
import { type CsvSource, csvTextsSql } from './source-sql.ts';

/** The rows that the first line is compared with. */
const COMPARED_ROWS = 1000;
/** A longer value is a text. */
const MAX_TYPED_LENGTH = 1000;

/** A value of the first line that is not null. */
interface FirstValue {
  readonly column: number;
  readonly text: string;
  /** The types that it fits, without those of texts. */
  readonly types: readonly CsvType[];
  readonly isText: boolean;
}

/**
 * Detects whether the first line of a CSV file is a header: a line of texts is, and one with a value that does not fit
 * the values below it. Numbers beside a text are names if they count up or are years. `declared` are the types of the
 * columns that a client declared.
 */
export async function hasHeader(
  query: QueryTexts,
  source: CsvSource,
  head: CsvHead,
  declared: readonly (CsvType | undefined)[],
): Promise<boolean> {
  const { delimiter, skip, firstLine = [] } = head;
  const inferredTypes = [...formattedTypes(source), ...INFERRED_TYPES];
  const knownTypes = declared.flatMap((type) => type ?? []);
  const values = await firstValues(query, { ...source, firstLine }, inferredTypes, knownTypes);
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
  { firstLine, nulls = [] }: { readonly firstLine: readonly string[]; readonly nulls?: readonly string[] | undefined },
  inferredTypes: readonly CsvType[],
  knownTypes: readonly CsvType[],
): Promise<readonly FirstValue[]> {
  const texts = firstLine.map((text) => (mayBeTyped(text) ? text : 'text'));
  const found = await typesOfTexts(query, texts, [...new Set([...inferredTypes, ...knownTypes])]);
  return firstLine.flatMap((text, column) => {
    const types = found[column] ?? [];
    const isText = !inferredTypes.some((type) => types.includes(type));
    return text === '' || nulls.includes(text) ? [] : [{ column, text, types, isText }];
  });
}

function mayBeTyped(text: string): boolean {
  return text.length <= MAX_TYPED_LENGTH && !text.includes('\0');
}

const [FIRST_YEAR, LAST_YEAR] = [1900, 2100];

/**
 * Whether all values may be names: texts, and numbers that are years or count up. An empty first value stands for a text,
 * as in the files that pandas and R write with an index; pandas calls a single column 0.
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
