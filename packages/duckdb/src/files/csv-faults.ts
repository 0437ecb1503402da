import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { columnInfo } from '@svc/frames';
import type { QueryTexts } from './csv-inference.ts';
import { CARRIAGE_RETURN, createCsvScanner, csvChunks, LINE_FEED, withoutByteOrderMark } from './csv-scanner.ts';
import { csvColumnName, type CsvTable } from './csv-table.ts';
import { type CsvSource, csvTextsSql } from './source-sql.ts';

/** Columns that one statement looks at. */
const COLUMNS_PER_STATEMENT = 250;

interface InexactValue {
  /** From 1, without the header. */
  readonly row: number;
  readonly column: number;
  readonly text: string;
}

/** Returns an error about the first value that does not fit the declared type of its column. */
export async function inexactValue(query: QueryTexts, source: CsvSource, table: CsvTable): Promise<ServiceError> {
  const value = await findInexactValue(query, source, table);
  const field = value && table.columns[value.column]?.field;
  if (value === undefined || field === undefined)
    throw new Error('All values of a CSV file fit their columns, although a check failed.');
  const line = await lineOfRow(source.path, table, value.row);
  const { name, type } = columnInfo(field);
  const format =
    type === 'DATE' ? source.dateFormat : type.startsWith('TIMESTAMP') ? source.timestampFormat : undefined;
  const wanted = format === undefined ? type : `${type} in the format ${quoted(format)}`;
  const isAppended = source.addedTo !== undefined && source.columns === undefined;
  return new ServiceError(
    'invalid_data',
    `Line ${line} of the CSV file, column ${quoted(name)}: ${quoted(value.text)} is not of the type ${wanted}.`,
    {
      hint: isAppended
        ? 'Correct the value: appended rows are read in the types of the frame.'
        : 'Correct the value, or declare another type with ?columns=.',
    },
  );
}

async function findInexactValue(
  query: QueryTexts,
  source: CsvSource,
  table: CsvTable,
): Promise<InexactValue | undefined> {
  const { columns } = table;
  const texts = csvTextsSql(source, table);
  const declared = columns.flatMap(({ type, otherTypes }, index) =>
    otherTypes === undefined ? [{ index, type }] : [],
  );
  let found: InexactValue | undefined;
  for (let at = 0; at < declared.length; at += COLUMNS_PER_STATEMENT) {
    const some = declared.slice(at, at + COLUMNS_PER_STATEMENT);
    const tests = some.map(({ index, type }) => {
      const text = csvColumnName(index);
      const isExact = type.isExact(text, type.valueOf(text), { allowNegativeZero: true });
      return `WHEN ${text} IS NOT NULL AND NOT coalesce(${isExact}, false) THEN ${index}`;
    });
    const names = some.map(({ index }) => `WHEN ${index} THEN ${csvColumnName(index)}`);
    const [first] = await query(`SELECT n::VARCHAR, i::VARCHAR, CASE i ${names.join(' ')} END
      FROM (SELECT *, CASE ${tests.join(' ')} END AS i FROM (SELECT *, row_number() OVER () AS n FROM ${texts}))
      WHERE i IS NOT NULL ORDER BY n LIMIT 1`);
    const [row, column, text] = first ?? [];
    if (first === undefined || (found !== undefined && found.row <= Number(row))) continue;
    found = { row: Number(row), column: Number(column), text: text ?? '' };
  }
  return found;
}

/** Finds the line on which a row starts. Empty lines hold no row, except in a file of one column after the first line. */
async function lineOfRow(path: string, { delimiter, header, skip, columns }: CsvTable, row: number): Promise<number> {
  const scanner = createCsvScanner([delimiter]);
  let rowsBefore = (header ? -1 : 0) - (columns.length === 1 ? skip : 0);
  let [line, start] = [1, 1];
  let isEmpty = true;
  let isFirst = true;
  let last = 0;
  for await (const chunk of csvChunks(path)) {
    const text = isFirst ? withoutByteOrderMark(chunk) : chunk;
    for (let from = 0; from < text.length;) {
      const at = scanner.skipText(text, from);
      if (at > from) [isEmpty, last] = [false, 0];
      from = at + 1;
      const byte = text[at];
      if (byte === undefined) break;
      const token = scanner.next(byte);
      const isSecond = byte === LINE_FEED && last === CARRIAGE_RETURN;
      if ((byte === LINE_FEED || byte === CARRIAGE_RETURN) && !isSecond) line += 1;
      last = byte;
      if (token === 'line_end' && !isSecond) {
        if (!isEmpty || columns.length === 1) rowsBefore += 1;
        if (rowsBefore >= row) return start;
        isEmpty = true;
      }
      if (isSecond || token === 'line_end') start = line;
      else isEmpty = false;
    }
    isFirst = false;
  }
  return start;
}
