import { cancelledError, type ErrorCode, ServiceError, toServiceError } from '@svc/errors';
import { isOutOfFiles, quoted } from '@svc/errors/internal';
import { createYield } from '@svc/frames/async';
import { childrenOf } from '@svc/frames/columns';
import { charactersBefore, foldedName, sharedNames, sqlNames } from '@svc/frames/sql';
import { DataType, type Field } from 'apache-arrow';
import { ChildCrash, ChildError, OOM_KILL_HINT } from '../child-link/child-errors.ts';
import type { PinnedSource } from '../store/sql-frames.ts';
import { unreadableFrame } from '../store/store-errors.ts';
import type { NamedPart, SqlFault } from '../wire/requests.ts';
import { sqlText } from '../wire/sql-names.ts';

/** The context of an error. */
export interface SqlContext {
  readonly sql: string;
  /** The frames of the statement. */
  readonly pins: readonly PinnedSource[];
  /** Paths to hide in errors. */
  readonly privatePaths: readonly string[];
}

/** Converts a failure of a statement to the error for the client. Messages of DuckDB are kept, without paths. */
export function toSqlError(error: unknown, context: SqlContext): ServiceError {
  const { sql } = context;
  if (error instanceof ChildCrash) return crashError(error, sql);
  if (!(error instanceof ChildError)) return toServiceError(error);
  const { failure } = error;
  switch (failure.code) {
    case 'cancelled':
      return cancelledError(error);
    case 'invalid_sql':
    case 'permission_denied': {
      const { code, message, hint, position } = failure;
      const at = position === undefined ? {} : { position: charactersBefore(sql, position) };
      return new ServiceError(code, message, { query: sql, ...(hint !== undefined && { hint }), ...at });
    }
    case 'sql_fault':
      return faultError(failure, context, error);
    case 'unreadable_frame':
      return unreadableFrame(failure.frame, false, error);
    case 'duckdb':
    case 'damaged_file':
    case 'invalid_data':
      return toServiceError(error);
    default:
      return failure satisfies never;
  }
}

function faultError(fault: SqlFault, context: SqlContext, cause: ChildError): ServiceError {
  const { sql, pins, privatePaths } = context;
  const { kind, position } = fault;
  const fail = (code: ErrorCode, message: string, hint = ''): ServiceError => sqlError(code, message, hint, sql, cause);
  const isOfTheSystem = kind === 'Out of Memory' || OURS.has(kind);
  if (isOfTheSystem && /max_temp_directory_size|no space left on device|disk quota exceeded/i.test(fault.message)) {
    return fail('out_of_disk', 'The SQL needs more disk space than one statement may use.', LESS_DISK_HINT);
  }
  const hasNoMemory = /failed to allocate|bad_alloc|memory allocation fail|out of memory/i.test(fault.message);
  if (kind === 'Out of Memory' || (isOfTheSystem && hasNoMemory)) return outOfMemory(sql, cause);
  if (isOfTheSystem && isOutOfFiles(cause)) return toServiceError(cause);
  if (kind === 'Permission') return fail('permission_denied', 'The SQL accesses something other than frames.');
  if (kind === 'IO' && pins.some(({ info }) => info.isForeign)) {
    return fail('invalid_data', 'The file of a frame changed while it was read.');
  }
  if (fault.message === UNSAID) {
    const hint = 'Ask for less at once: the error message may not have fitted into memory.';
    return fail('invalid_sql', 'The SQL failed, and the engine could not report why.', hint);
  }
  if (OURS.has(kind)) return toServiceError(cause);
  const at = position === undefined ? {} : { position: charactersBefore(sql, position) };
  const shared = kind === 'Binder' ? missedColumn(fault.message, pins) : undefined;
  if (shared !== undefined)
    return new ServiceError('invalid_sql', shared.message, { ...shared, query: sql, cause, ...at });
  // The lines after the first say how to correct the SQL.
  const [first = '', ...help] = withoutPaths(fault.message, privatePaths).trim().split('\n');
  const said = help.join(' ').replaceAll(/\s+/g, ' ').trim();
  const hint = [said === '' ? said : sentence(said), textHint(first, sql)].join(' ').trim();
  return new ServiceError('invalid_sql', sentence(first), { query: sql, cause, ...(hint !== '' && { hint }), ...at });
}

function sqlError(code: ErrorCode, message: string, hint: string, sql: string, cause: Error): ServiceError {
  return new ServiceError(code, message, { ...(hint !== '' && { hint }), query: sql, cause });
}

const LESS_DISK_HINT = 'Ask for less at once: filter earlier, or aggregate before sorting and joining.';

/** The hint for an unknown column in double quotes: elsewhere, text is written like this. */
function textHint(fault: string, sql: string): string {
  const [, name] = /^Referenced column "(.{1,100})" not found/.exec(fault) ?? [];
  if (name === undefined || !sql.includes(`"${name}"`)) return '';
  return `Text is in single quotes: ${sqlText(name)}.`;
}

function crashError(cause: ChildCrash, sql: string): ServiceError {
  if (cause.isOomKill) {
    const message = 'The system ended the engine while it ran the SQL: no memory was left.';
    return sqlError('out_of_memory', message, OOM_KILL_HINT, sql, cause);
  }
  if (cause.isOutOfMemory) return outOfMemory(sql, cause);
  if (cause.hasHung) {
    const message = 'The engine stopped responding while it ran the SQL, and was replaced.';
    return sqlError('unavailable', message, `${AGAIN_HINT}.`, sql, cause);
  }
  const hint = `${AGAIN_HINT}; if it fails again, report it with the request id.`;
  return sqlError('internal', 'The engine ended unexpectedly while it ran the SQL.', hint, sql, cause);
}

const AGAIN_HINT = 'Send the SQL again, shorter if it is very long or deeply nested';

function outOfMemory(sql: string, cause: Error): ServiceError {
  const hint = 'Ask for less at once, or raise sql.memory_gb.';
  return sqlError('out_of_memory', 'The SQL needs more memory than one statement may use.', hint, sql, cause);
}

/** The binding's message if there is no memory for that of DuckDB. */
const UNSAID = 'Failed to execute prepared statement';

/** Failures no SQL should cause; those without a kind are not from DuckDB. */
const OURS: ReadonlySet<string> = new Set(['', 'INTERNAL', 'FATAL', 'IO', 'Serialization', 'Connection', 'HTTP']);

function withoutPaths(message: string, paths: readonly string[]): string {
  return paths.reduce((text, path) => text.replaceAll(path, '…'), message);
}

function sentence(message: string): string {
  const text = message.trim();
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Why a name shared by several columns is ambiguous, and what to write instead. */
interface SharedName {
  readonly message: string;
  readonly hint: string;
}

/** DuckDB's wordings for a missing column or struct field. */
const MISSING = /not found|does not have|does not exist|no matching|could not find/i;

/** Returns the shared name behind a failure, if there is one. */
function missedColumn(fault: string, pins: readonly PinnedSource[]): SharedName | undefined {
  const [line = ''] = fault.split('\n');
  if (!MISSING.test(line)) return undefined;
  const said = foldedName(line);
  const isNamed = (name: string): boolean =>
    [`"${name}"`, `.${name}"`, `"^${name}$"`].some((one) => said.includes(one));
  for (const { handle, info } of pins) {
    const found = sharedIn(info.schema.fields, handle, 'columns', isNamed);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Refuses an unqualified column name shared by columns of one frame if another frame has it, too: DuckDB would silently
 * use the other frame.
 */
export async function refuseContested(
  sql: string,
  columns: readonly NamedPart[],
  pins: readonly PinnedSource[],
): Promise<void> {
  const pause = createYield();
  const named = new Map<string, NamedPart>();
  for (const column of columns) {
    const key = foldedName(column.name);
    if (!named.has(key)) named.set(key, column);
    await pause();
  }
  let known: ReadonlySet<string> | undefined;
  for (const { handle, info } of pins) {
    const names = info.schema.fields.map(({ name }) => name);
    for (const key of sharedNames(names).keys()) {
      const column = named.get(key);
      if (column === undefined) continue;
      // The frame itself does not have this name in SQL: its columns get a number.
      known ??= await namesIn(pins);
      if (!known.has(key)) continue;
      const { message, hint } = sharedName(names, key, handle, 'columns');
      throw new ServiceError('invalid_sql', message, {
        hint: `${hint} Qualify the column of another frame with its table name.`,
        query: sql,
        position: charactersBefore(sql, column.position),
      });
    }
    await pause();
  }
}

/** Returns the folded SQL names of the columns of all frames. */
async function namesIn(pins: readonly PinnedSource[]): Promise<ReadonlySet<string>> {
  const pause = createYield();
  const found = new Set<string>();
  for (const { info } of pins) {
    for (const name of sqlNames(info.schema.fields.map((field) => field.name))) found.add(foldedName(name));
    await pause();
  }
  return found;
}

function sharedIn(
  fields: readonly Field[],
  handle: string,
  kind: 'columns' | 'fields',
  isNamed: (name: string) => boolean,
): SharedName | undefined {
  const names = fields.map(({ name }) => name);
  const key = [...sharedNames(names).keys()].find(isNamed);
  if (key !== undefined) return sharedName(names, key, handle, kind);
  for (const field of fields) {
    // The child of a list or map has no name in SQL.
    const inner = sharedIn(childrenOf(field), handle, DataType.isStruct(field.type) ? 'fields' : kind, isNamed);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

function sharedName(names: readonly string[], key: string, handle: string, kind: string): SharedName {
  const places = sharedNames(names).get(key) ?? [];
  const called = sqlNames(names);
  const list = (all: readonly string[]): string => places.map((place) => quoted(all[place] ?? '')).join(' and ');
  return {
    message: `The name ${quoted(key)} is shared by the ${kind} ${list(names)} of the frame ${quoted(handle)}.`,
    hint: `In SQL they are called ${list(called)}.`,
  };
}
