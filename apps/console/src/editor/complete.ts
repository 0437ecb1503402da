import type { ColumnInfo } from '../api/api.ts';
import { quotedName, quoteName } from '../state/quote-name.ts';
import { type SqlToken, sqlTokens, statementAt } from './statement-at.ts';
import type { CompletionWords, TableInfo } from './vocabulary.ts';

/** A completion. */
export interface Proposal {
  /** What the list shows, and typed letters are compared with. */
  readonly label: string;
  /** What is put into the text. */
  readonly text: string;
  readonly kind: 'column' | 'table' | 'alias' | 'function' | 'keyword';
  readonly detail: string;
  readonly info: string;
  /** Larger ones come first. */
  readonly rank: number;
}

/** The proposals, and the start of the word they replace. */
export interface Completion {
  readonly from: number;
  readonly proposals: readonly Proposal[];
}

/** Columns of all tables are proposed only up to this number. */
const MAX_COLUMNS = 2000;

/** Longer texts are not read again at each key: they are probably data. */
export const MAX_READ_LENGTH = 200_000;

/** Returns what fits at a place of a text; undefined in strings, comments and numbers, and in a very long text. */
export function completeAt(text: string, place: number, words: CompletionWords): Completion | undefined {
  if (text.length > MAX_READ_LENGTH) return undefined;
  const tokens = sqlTokens(text.slice(0, place));
  const last = tokens.at(-1);
  const isAtEnd = last !== undefined && last.to === place;
  if (last && isInside(last, place)) return undefined;
  const isWord = isAtEnd && (last.kind === 'word' || (last.kind === 'quoted' && !last.isClosed));
  if (isAtEnd && !isWord && (last.kind === 'number' || last.kind === 'string' || last.kind === 'quoted'))
    return undefined;
  const before = (isWord ? tokens.slice(0, -1) : tokens).filter(({ kind }) => kind !== 'comment');
  const from = isWord ? last.from : place;
  const isQuoted = isWord && last.kind === 'quoted';
  const found = proposalsAfter(text, before, place, words).filter(
    ({ kind }) => !isQuoted || kind === 'column' || kind === 'table',
  );
  return { from, proposals: isQuoted ? found.map(inQuotes) : found };
}

function isInside(token: SqlToken, place: number): boolean {
  if (token.isClosed || token.kind === 'quoted') return false;
  return token.kind === 'comment' || token.kind === 'string' ? token.to >= place : false;
}

function inQuotes(proposal: Proposal): Proposal {
  const text = quotedName(proposal.label);
  return { ...proposal, label: text, text };
}

function proposalsAfter(
  text: string,
  before: readonly SqlToken[],
  place: number,
  words: CompletionWords,
): readonly Proposal[] {
  const word = (index: number): string => {
    const token = before.at(index);
    return token ? text.slice(token.from, token.to) : '';
  };
  const named = tablesNamedAt(text, place, words.tables);
  if (word(-1) === '.') return columnProposals(tablesOf(nameOf(word(-2)), named, words.tables), 3);
  const isAfterFrom = /^(?:from|join|describe|desc|summarize|into|update|table)$/i.test(word(-1));
  const tables = words.tables.map(({ name, columns }) =>
    proposalOf('table', name, quoteName(name), isAfterFrom ? 4 : 1, `${columns.length} columns`),
  );
  const functions = words.functions.map(({ name, signature, description, isTable }) =>
    proposalOf('function', name, `${name}(`, isTable === isAfterFrom ? 0 : -1, signature, description),
  );
  const keywords = words.keywords.map((label) => proposalOf('keyword', label, label, 0));
  if (isAfterFrom) return [...tables, ...functions, ...keywords];
  const sources = named.length > 0 ? named.map(({ table }) => table) : words.tables;
  const aliases = named.flatMap(({ alias, table: { name } }) =>
    alias === undefined || alias === name ? [] : [proposalOf('alias', alias, quoteName(alias), 2, name)],
  );
  return [...columnProposals(sources, named.length > 0 ? 3 : 1), ...aliases, ...tables, ...functions, ...keywords];
}

function proposalOf(
  kind: Proposal['kind'],
  label: string,
  text: string,
  rank: number,
  detail = '',
  info = '',
): Proposal {
  return { kind, label, text, rank, detail, info };
}

interface NamedTable {
  readonly table: TableInfo;
  readonly alias: string | undefined;
}

/** Returns the tables of the statement at a place with their aliases, also those after the place. */
function tablesNamedAt(text: string, place: number, tables: readonly TableInfo[]): readonly NamedTable[] {
  const statement = statementAt(text, place)?.text ?? '';
  const tokens = sqlTokens(statement).filter(({ kind }) => kind !== 'comment');
  const byName = new Map(tables.map((table) => [table.name.toLowerCase(), table]));
  const textOf = (token: SqlToken | undefined): string => (token ? statement.slice(token.from, token.to) : '');
  return tokens.flatMap((token, index): readonly NamedTable[] => {
    const isName = token.kind === 'word' || token.kind === 'quoted';
    const table = isName ? byName.get(nameOf(textOf(token)).toLowerCase()) : undefined;
    // A word after a dot is a column; one before a dot, as in `t.price`, is only a use of the name.
    if (table === undefined || textOf(tokens[index - 1]) === '.' || textOf(tokens[index + 1]) === '.') return [];
    const hasAs = /^as$/i.test(textOf(tokens[index + 1]));
    const alias = tokens[index + (hasAs ? 2 : 1)];
    const isAlias = alias?.kind === 'quoted' || (alias?.kind === 'word' && !AFTER_TABLE.test(textOf(alias)));
    return [{ table, alias: isAlias ? nameOf(textOf(alias)) : undefined }];
  });
}

/** Words after the name of a table, other than its alias. */
const AFTER_TABLE =
  /^(?:anti|asof|cross|except|full|group|having|inner|intersect|join|latest|left|limit|natural|on|order|pivot|positional|qualify|right|sample|select|semi|union|unpivot|using|where|window)$/i;

/** Returns the tables of a name before a dot. */
function tablesOf(name: string, named: readonly NamedTable[], tables: readonly TableInfo[]): readonly TableInfo[] {
  const isSame = (other: string | undefined): boolean => other?.toLowerCase() === name.toLowerCase();
  const byAlias = named.filter(({ alias }) => isSame(alias)).map(({ table }) => table);
  return byAlias.length > 0 ? byAlias : tables.filter((table) => isSame(table.name));
}

/** Returns the name of a word or a quoted name. */
function nameOf(text: string): string {
  const quote = text[0];
  if (quote !== '"' && quote !== '`') return text;
  return text.slice(1, text.length > 1 && text.endsWith(quote) ? -1 : undefined).replaceAll(quote + quote, quote);
}

/** Returns a proposal for each column name, with its tables. */
function columnProposals(tables: readonly TableInfo[], rank: number): readonly Proposal[] {
  const columns = new Map<string, { readonly column: ColumnInfo; readonly tables: string[] }>();
  for (const table of tables) {
    for (const column of table.columns) {
      if (columns.size >= MAX_COLUMNS) break;
      const found = columns.get(column.name) ?? { column, tables: [] };
      if (!found.tables.includes(table.name)) found.tables.push(table.name);
      columns.set(column.name, found);
    }
  }
  return [...columns.values()].map(({ column: { name, type }, tables: names }) =>
    proposalOf('column', name, quoteName(name), rank, type, names.slice(0, 5).join(', ')),
  );
}
