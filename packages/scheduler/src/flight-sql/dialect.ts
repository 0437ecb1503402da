import { ServiceError } from '@svc/errors';
import { schedulerFailed } from '../scheduler-failed.ts';

/** How an engine reads names and common table expressions. */
export interface Dialect {
  /** The quote of names. */
  readonly quote: string;
  /** Whether a query with common table expressions may stand in the parentheses after WITH. */
  readonly isNesting: boolean;
  /** Whether names in quotes that differ only in case are different. */
  readonly isCaseSensitive: boolean;
}

type Form = Omit<Dialect, 'isCaseSensitive'>;

/** Forms, the better ones first. Engines that read both quotes give the same answer with each. */
const FORMS: readonly Form[] = [
  { quote: '"', isNesting: true },
  { quote: '`', isNesting: true },
  { quote: '"', isNesting: false },
  { quote: '`', isNesting: false },
];

/**
 * Finds the dialect of an engine by small queries: many do not answer GetSqlInfo, and it does not say which forms of WITH an
 * engine reads. `run` runs a query, and fails with `invalid_sql` if the engine cannot read it.
 */
export async function findDialect(run: (sql: string) => Promise<void>): Promise<Dialect> {
  async function isRead(sql: string): Promise<boolean> {
    try {
      await run(sql);
      return true;
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'invalid_sql') return false;
      throw error;
    }
  }

  for (const form of FORMS) {
    if (await isRead(formProbe(form))) return { ...form, isCaseSensitive: await isRead(caseProbe(form)) };
  }
  throw schedulerFailed('The scheduler reads no form of WITH, which binds frames to their names.', {
    hint: 'Leave out scheduler.read_file, and query the tables of the scheduler under their own names.',
  });
}

function formProbe({ quote, isNesting }: Form): string {
  const table = `${quote}svc-a${quote}`;
  const inner = isNesting ? `WITH svc_b AS (SELECT n FROM ${table}) SELECT n FROM svc_b` : `SELECT n FROM ${table}`;
  return `WITH ${table} AS (SELECT 1 AS n) (\n${inner}\n)`;
}

/** Defines the same name twice, unless its case counts. */
function caseProbe({ quote }: Form): string {
  const [small, large] = [`${quote}svc-a${quote}`, `${quote}SVC-A${quote}`];
  return `WITH ${small} AS (SELECT 1 AS n), ${large} AS (SELECT 2 AS n) (\nSELECT n FROM ${small}\n)`;
}
