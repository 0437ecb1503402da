import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';
import { charactersBefore, childrenOf, createYield, foldedName, sharedNames, sqlNames } from '@svc/frames/internal';
import { DataType, type Field } from 'apache-arrow';
import type { NamedPart } from '../wire/sql-requests.ts';
import type { PinnedSource } from '../store/sql-frames.ts';

/** Why a name that several columns share is ambiguous, and what to write instead. */
export interface SharedName {
  readonly message: string;
  readonly hint: string;
}

/** DuckDB's wordings for a missing column or struct field. */
const MISSING = /not found|does not have|does not exist|no matching|could not find/i;

/** Returns the shared name that a statement failed on, if it was one. */
export function missedColumn(fault: string, pins: readonly PinnedSource[]): SharedName | undefined {
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
 * Refuses an unqualified column name that columns of one frame share if another frame has it, too: DuckDB would silently
 * use that one.
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
      // The frame itself does not have this name in SQL: the columns that share it get a number.
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
