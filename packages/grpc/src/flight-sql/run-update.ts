import { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import type { Service } from '@svc/service';
import type { BoundStatement } from '../flight/flight-source.ts';
import { parseUpdate, type UpdateStatement } from './update-statement.ts';

/** Whether a statement changes frames. */
export function isUpdate(sql: string): boolean {
  return parseUpdate(sql) !== undefined;
}

/** Throws `permission_denied` if the caller may not run a statement, before its parameters are read. */
export function authorizeStatement(
  service: Service,
  call: Call,
  { sql, engine }: Pick<BoundStatement, 'engine' | 'sql'>,
): void {
  const update = parseUpdate(sql);
  if (update === undefined) service.authorize(call, 'query', engine);
  else if (update.kind === 'drop') service.authorize(call, 'dropFrame');
  else service.authorize(call, 'keepQuery', engine);
}

/** Runs a statement that changes frames. Returns the number of rows it created. */
export async function runUpdate(service: Service, call: Call, statement: BoundStatement): Promise<number> {
  const { sql, engine } = statement;
  const update = parseUpdate(sql);
  if (update === undefined) {
    // If the statement is not a valid query either, the error of the engine comes first.
    await service.describeQuery(call, sql, engine);
    throw new ServiceError('invalid_sql', 'The statement does not change frames.', {
      hint: 'Run it as a query. Change frames with CREATE [OR REPLACE] TABLE name AS query or DROP TABLE name.',
      query: sql,
    });
  }
  try {
    return update.kind === 'drop' ? await drop(service, call, update) : await create(service, call, update, statement);
  } catch (error) {
    const isExpected = update.isOptional && error instanceof ServiceError && EXPECTED.has(error.code);
    if (isExpected) return 0;
    throw error;
  }
}

/** The errors that IF EXISTS and IF NOT EXISTS suppress. */
const EXPECTED: ReadonlySet<string> = new Set(['handle_exists', 'handle_not_found']);

async function drop(service: Service, call: Call, { handle }: UpdateStatement): Promise<number> {
  await service.dropFrame(call, handle);
  return 0;
}

async function create(
  service: Service,
  call: Call,
  { handle, isReplacing, select }: Extract<UpdateStatement, { kind: 'create' }>,
  { params, engine }: BoundStatement,
): Promise<number> {
  const { info } = await service.keepQuery(call, select, {
    handle,
    params,
    engine,
    ...(isReplacing ? {} : { ifAbsent: true }),
  });
  return info.rows;
}
