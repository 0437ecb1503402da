import type { Partially, sparkConnect } from '@svc/proto';
import type { BoundFrame, BoundStatement } from '../driver.ts';
import { ddlOf, quoteName } from './ddl.ts';
import { literalOf } from './parameters.ts';

/** What differs between the servers that speak Spark Connect. */
export interface Dialect {
  /** Whether the name of a relation is SQL, to be quoted, or the name itself. */
  readonly quotesNames: boolean;
  /** Whether files are read with the schema that is given, in place of the one that they declare. */
  readonly takesSchema: boolean;
  /** Whether the name of a file is taken as it is, as Hadoop does, or with its escapes decoded, as in any other URI. */
  readonly decodesUris: boolean;
  /** Whether a missing file is an error, not an empty table. */
  readonly noticesMissingFiles: boolean;
}

/** Spark itself. */
export const SPARK: Dialect = { quotesNames: true, takesSchema: true, decodesUris: false, noticesMissingFiles: true };

/** Sail. */
export const SAIL: Dialect = { quotesNames: false, takesSchema: false, decodesUris: true, noticesMissingFiles: false };

/** What a server runs. */
export type Plan = Partially<sparkConnect.Relation>;

type Relation = Plan;
type Body = Omit<Relation, 'common'>;

/** No command parses inside parentheses. The line breaks end a comment. */
const OPEN = '(\n';
const CLOSE = '\n)';

/** The number of characters before the SQL of a statement in the plan. */
export const OPEN_LENGTH = OPEN.length;

/** Options of `planOf`. */
export interface PlanOptions {
  readonly dialect: Dialect;
  /** The maximum number of rows. Default: all. */
  readonly limit?: number;
}

/**
 * Returns the plan of a statement over its frames. It names their files, so that no state of a session can change what
 * the statement reads.
 */
export function planOf({ sql, params, frames }: PlannedStatement, { dialect, limit }: PlanOptions): Plan {
  const number = numbering();
  const query = number({ sql: { query: `${OPEN}${sql}${CLOSE}`, posArguments: params.map(literalOf) } });
  const references = frames.map((frame) => number(referenceTo(frame, dialect, number)));
  const root = references.length === 0 ? query : number({ withRelations: { root: query, references } });
  return limit === undefined ? root : number({ limit: { input: root, limit } });
}

type PlannedStatement = Pick<BoundStatement, 'sql' | 'params' | 'frames'>;

/** Returns a relation of one row under an unusual name, and a query of it: a server accepts it in its own dialect alone. */
export function probePlan({ quotesNames }: Dialect): Plan {
  const number = numbering();
  const name = 'a-b';
  const input = number({ sql: { query: '(SELECT 1 AS x)' } });
  const alias = number({ subqueryAlias: { alias: quotesNames ? quoteName(name) : name, input } });
  const root = number({ sql: { query: `(SELECT x FROM ${quoteName(name)})` } });
  return number({ withRelations: { root, references: [alias] } });
}

function referenceTo({ name, uris, schema }: Reference, dialect: Dialect, number: Numbering): Body {
  const paths = dialect.decodesUris ? uris : uris.map((uri) => decodeURIComponent(uri));
  const dataSource = { format: 'parquet', paths, ...(dialect.takesSchema && { schema: ddlOf(schema) }) };
  const input = number({ read: { dataSource } });
  return { subqueryAlias: { alias: dialect.quotesNames ? quoteName(name) : name, input } };
}

type Reference = Pick<BoundFrame, 'name' | 'uris' | 'schema'>;
type Numbering = (body: Body) => Relation;

/** Gives each relation of a plan a number. */
function numbering(): Numbering {
  let next = 0n;
  return (body) => ({ common: { planId: next++ }, ...body });
}
