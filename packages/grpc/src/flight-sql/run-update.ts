import { ServiceError } from '@svc/errors';
import type { Call, FrameStream } from '@svc/frames';
import { createYield } from '@svc/frames/async';
import { createRecordBatch } from '@svc/frames/columns';
import {
  type CreateStatement,
  type DropStatement,
  type InsertStatement,
  parseUpdate,
  type RenameStatement,
  UPDATES_HINT,
  type UpdateStatement,
} from '@svc/frames/statements';
import type { EngineName, Service } from '@svc/service';
import { type Data, type Field, Schema } from 'apache-arrow';
import type { BoundStatement } from '../flight/flight-source.ts';

/** A statement, with what it changes; undefined if it is a query. */
export interface ParsedStatement extends BoundStatement {
  readonly update: UpdateStatement | undefined;
}

/** Parses a statement. */
export async function parsedStatement(statement: BoundStatement): Promise<ParsedStatement> {
  return { ...statement, update: await parseUpdate(statement.sql, createYield()) };
}

/** True if a statement takes any number of rows of parameters. */
export function takesRows(update: UpdateStatement | undefined): boolean {
  return update?.kind === 'insert' && update.placeholders !== undefined;
}

/** Throws `permission_denied` if the caller may not run a statement, before its parameters are read. */
export function authorizeStatement(
  service: Service,
  call: Call,
  { update, engine }: Pick<ParsedStatement, 'engine' | 'update'>,
): void {
  if (update === undefined) service.authorize(call, 'query', engine);
  else if (update.kind === 'drop') service.authorize(call, 'dropFrame');
  else if (update.kind === 'rename') service.authorize(call, 'renameFrame');
  else if (update.kind === 'create') service.authorize(call, 'keepQuery', engineFor(update, engine));
  else if (update.kind === 'insert' && update.placeholders) service.authorize(call, 'appendRows');
  else if (update.kind === 'insert') service.authorize(call, 'appendQuery', engine);
}

/**
 * Runs a statement that changes frames. Returns the number of rows that it stored. `bound`: rows for an `INSERT` whose
 * values are parameters, which are appended together.
 */
export async function runUpdate(
  service: Service,
  call: Call,
  statement: ParsedStatement,
  bound?: FrameStream,
): Promise<number> {
  const { sql, engine, update } = statement;
  if (update === undefined) {
    // If the statement is not a valid query either, the error of the engine comes first.
    await service.describeQuery(call, sql, engine);
    throw new ServiceError('invalid_sql', 'The statement does not change frames.', { hint: UPDATES_HINT, query: sql });
  }
  if (update.kind === 'insert') return insert(service, call, update, statement, bound);
  if (update.kind === 'nothing') return 0;
  try {
    if (update.kind === 'create') return await create(service, call, update, statement);
    if (update.kind === 'rename') return await rename(service, call, update);
    return await drop(service, call, update);
  } catch (error) {
    const isExpected = update.isOptional && error instanceof ServiceError && error.code === EXPECTED[update.kind];
    if (isExpected) return 0;
    throw error;
  }
}

/** The errors suppressed by IF EXISTS and IF NOT EXISTS. */
const EXPECTED = { create: 'handle_exists', drop: 'handle_not_found', rename: 'handle_not_found' } as const;

/** Columns are declared with the types of this server, whatever runs other statements. */
function engineFor({ isDeclared }: CreateStatement, engine: EngineName): EngineName {
  return isDeclared ? 'local' : engine;
}

async function drop(service: Service, call: Call, { handle }: DropStatement): Promise<number> {
  await service.dropFrame(call, handle);
  return 0;
}

async function rename(service: Service, call: Call, { handle, newHandle }: RenameStatement): Promise<number> {
  await service.renameFrame(call, handle, newHandle);
  return 0;
}

async function create(
  service: Service,
  call: Call,
  statement: CreateStatement,
  { sql, params, engine: chosen }: BoundStatement,
): Promise<number> {
  const { handle, isReplacing, isDeclared, select } = statement;
  const condition = isReplacing ? {} : { ifAbsent: true };
  const engine = engineFor(statement, chosen);
  try {
    const { info } = await service.keepQuery(call, select, { handle, params, engine, ...condition });
    return info.rows;
  } catch (error) {
    if (!isDeclared || !(error instanceof ServiceError) || error.code !== 'invalid_sql') throw error;
    // The position is one in the query, not in the SQL of the client.
    throw new ServiceError('invalid_sql', error.message, { query: sql, cause: error });
  }
}

async function insert(
  service: Service,
  call: Call,
  { handle, columns, select, placeholders }: InsertStatement,
  { params, engine }: BoundStatement,
  bound: FrameStream | undefined,
): Promise<number> {
  const into = columns === undefined ? {} : { columns };
  if (bound === undefined || placeholders === undefined) {
    return (await service.appendQuery(call, handle, select, { params, engine, ...into })).rowsWritten;
  }
  return (await service.appendRows(call, handle, placedRows(bound, placeholders), into)).rowsWritten;
}

/** Returns bound rows with the columns of the placeholders, by index, in their order. */
function placedRows(rows: FrameStream, placeholders: readonly number[]): FrameStream {
  const { fields } = rows.schema;
  const schema = new Schema(placeholders.map((index, i) => fieldAt(fields, index).clone({ name: `${i}` })));
  async function* batches(): FrameStream['batches'] {
    for await (const batch of rows.batches) {
      const columns: readonly Data[] = batch.data.children;
      const placed = placeholders.flatMap((index) => columns[index] ?? []);
      yield createRecordBatch(schema, batch.numRows, placed);
    }
  }
  return { schema, batches: batches() };
}

function fieldAt(fields: readonly Field[], index: number): Field {
  const field = fields[index];
  if (field !== undefined) return field;
  throw new ServiceError(
    'invalid_argument',
    `The statement has a parameter ${index + 1}, but ${fields.length} values were bound in each row.`,
    { hint: 'Bind a value to each parameter.' },
  );
}
