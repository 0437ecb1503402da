import { ServiceError } from '@svc/errors';
import { charactersIn } from '@svc/frames/internal';
import type { Dialect } from './dialect.ts';
import { findTables } from './find-tables.ts';
import { Refusal, unreadable } from './refusal.ts';
import { SPARK } from './spark/spark-dialect.ts';
import { STANDARD } from './standard/standard-dialect.ts';
import { isName, isSymbol, type Token } from './token.ts';
import type { TableReference } from './walk.ts';

/** How an engine reads SQL: as Spark does, or as the SQL standard says. */
export type SqlDialect = 'spark' | 'standard';

/** A statement that may reach a cluster, once its tables are known to be frames. */
export interface CheckedStatement {
  /** The statement without a semicolon at its end. Positions in it are those in the original. */
  readonly sql: string;
  /** All identifiers as they are spelled, without quotes. The frames among them are candidates to be bound. */
  readonly names: ReadonlySet<string>;
  /** The tables it reads, in order, without the queries of WITH. Each must be a frame of the caller. */
  readonly tables: readonly StatementTable[];
  /** How many `?` it has. */
  readonly parameters: number;
}

/** A table that a statement reads. */
export interface StatementTable {
  /** As it is spelled, without quotes. */
  readonly name: string;
  /** Its place in the statement, in characters. */
  readonly position: number;
}

const DIALECTS: Readonly<Record<SqlDialect, Dialect>> = { spark: SPARK, standard: STANDARD };

/**
 * Checks that a statement is one query that only reads tables by a plain name, and that calls only harmless functions.
 * Throws `permission_denied` for anything else, and `invalid_sql` for a text that is not one statement.
 */
export function checkStatement(sql: string, dialect: SqlDialect): CheckedStatement {
  try {
    return check(sql, DIALECTS[dialect]);
  } catch (error) {
    throw error instanceof Refusal ? error.toServiceError(sql) : error;
  }
}

/** Throws `invalid_sql` unless each table of a statement is a frame. Without this check, tables of the cluster can be read. */
export function checkTables(statement: CheckedStatement, isFrame: (name: string) => boolean): void {
  for (const { name, position } of statement.tables) {
    if (isFrame(name)) continue;
    throw new ServiceError('invalid_sql', `There is no frame "${name}".`, {
      hint: 'GET /frames lists all handles. A query of WITH must be spelled as it is defined.',
      query: statement.sql,
      position,
    });
  }
}

function check(sql: string, dialect: Dialect): CheckedStatement {
  const { tokens, end } = withoutSemicolon(dialect.lex(sql), sql.length);
  const tables = findTables(tokens, dialect);
  return {
    sql: sql.slice(0, end),
    names: new Set(tokens.filter(isName).map(({ text }) => text)),
    tables: tables.map((table) => toStatementTable(table, sql)),
    parameters: tokens.filter(({ kind }) => kind === 'parameter').length,
  };
}

function toStatementTable({ name, start }: TableReference, sql: string): StatementTable {
  return { name, position: charactersIn(sql.slice(0, start)) };
}

/** Removes a semicolon at the end. Any other one separates statements. */
function withoutSemicolon(tokens: readonly Token[], length: number): { tokens: readonly Token[]; end: number } {
  const last = tokens.at(-1);
  const isEnd = isSymbol(last, ';');
  const kept = isEnd ? tokens.slice(0, -1) : tokens;
  const other = kept.find((token) => isSymbol(token, ';'));
  if (other !== undefined) {
    throw unreadable('The SQL has more than one statement.', 'Send one statement at a time.', other.start);
  }
  return { tokens: kept, end: isEnd && last !== undefined ? last.start : length };
}
