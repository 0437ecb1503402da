import { ServiceError } from '@svc/errors';
import { charactersIn, createYield } from '@svc/frames/internal';
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
  /** The tables it reads, each once, in order, without the queries of WITH. Each must be a frame of the caller. */
  readonly tables: readonly TableReference[];
  /** How many `?` it has. */
  readonly parameters: number;
}

const DIALECTS: Readonly<Record<SqlDialect, Dialect>> = { spark: SPARK, standard: STANDARD };

/**
 * Checks that a statement is one query that only reads tables by a plain name, and that calls only harmless functions.
 * Throws `permission_denied` for anything else, and `invalid_sql` for a text that is not one statement.
 */
export async function checkStatement(sql: string, dialect: SqlDialect): Promise<CheckedStatement> {
  try {
    return await check(sql, DIALECTS[dialect]);
  } catch (error) {
    throw error instanceof Refusal ? error.toServiceError(sql) : error;
  }
}

/** Throws `invalid_sql` unless each table of a statement is a frame. Without this check, tables of the cluster can be read. */
export function checkTables(statement: CheckedStatement, isFrame: (name: string) => boolean): void {
  for (const { name, start } of statement.tables) {
    if (isFrame(name)) continue;
    throw new ServiceError('invalid_sql', `There is no frame "${name}".`, {
      hint: 'GET /frames lists all handles. A query of WITH must be spelled as it is defined.',
      query: statement.sql,
      position: charactersIn(statement.sql.slice(0, start)),
    });
  }
}

async function check(sql: string, dialect: Dialect): Promise<CheckedStatement> {
  const pause = createYield();
  const { tokens, end } = withoutSemicolon(await dialect.lex(sql), sql.length);
  await pause();
  const tables = new Map<string, TableReference>();
  for (const table of findTables(tokens, dialect)) if (!tables.has(table.name)) tables.set(table.name, table);
  await pause();
  return {
    sql: sql.slice(0, end),
    names: new Set(tokens.filter(isName).map(({ text }) => text)),
    tables: [...tables.values()],
    parameters: tokens.filter(({ kind }) => kind === 'parameter').length,
  };
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
