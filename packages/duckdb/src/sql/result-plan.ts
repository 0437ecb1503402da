import { distinctNames, sqlNames, typeOf } from '@svc/frames/internal';
import { DataType, Field, List, Null, Schema, Struct } from 'apache-arrow';
import { fitsPlan } from '../wire/fits-plan.ts';
import type { GetPlan } from '../wire/column-plans.ts';
import type { DuckType } from '../wire/duck-type.ts';
import type { SqlResponses } from '../wire/sql-requests.ts';
import { mapType } from '../types/map-type.ts';
import { storedColumn } from '../types/stored-types.ts';
import { storedPlace } from './frame-view.ts';
import { fieldFromDuckdb, foreignColumn } from '../types/duckdb-types.ts';

/** The schema of a statement's result, and how to read it. */
export interface ResultPlan {
  readonly schema: Schema;
  readonly plans: readonly GetPlan[];
  /** The types to cast all columns to, if any column cannot be read as it is. */
  readonly casts?: readonly string[];
}

/** Returns the plan for DuckDB's result columns; `frames` are the schemas behind the views of the statement. */
export function resultPlan(columns: SqlResponses['prepare']['columns'], frames: readonly Schema[]): ResultPlan {
  const names = distinctNames(columns.map(({ name }) => name));
  const planned = columns.map(({ type }, i) => columnPlan(names[i] ?? '', type, frames));
  const isReadable = columns.every(({ type }, i) => {
    const get = planned[i]?.get;
    return get !== undefined && fitsPlan(type, get);
  });
  return {
    schema: new Schema(planned.map(({ field }) => field)),
    plans: planned.map(({ get }) => get),
    ...(!isReadable && { casts: planned.map(({ sqlType }) => sqlType) }),
  };
}

interface ColumnPlan {
  readonly field: Field;
  readonly get: GetPlan;
  /** Empty if the column is not cast. */
  readonly sqlType: string;
}

/** A column in its stored form keeps the field of its frame; any other gets the type that DuckDB reports. */
function columnPlan(name: string, type: DuckType, frames: readonly Schema[]): ColumnPlan {
  const [member, ...others] = 'fields' in type ? type.fields : [];
  const place = member && others.length === 0 ? storedPlace(member.name) : undefined;
  const stored = place && frames[place.frame]?.fields[place.column];
  if (stored !== undefined && member !== undefined) {
    const { field, get } = storedColumn(stored);
    const isStored = fitsPlan(member.type, get);
    const named = field.clone({ name, type: withSqlNames(typeOf(field)) });
    if (isStored) return { field: named, get: { kind: 'wrapped', item: get }, sqlType: '' };
  }
  const field = fieldFromDuckdb(name, type);
  return { field, ...foreignColumn(field) };
}

/** Returns the type with the SQL names of struct fields. */
function withSqlNames(type: DataType): DataType {
  const fields: readonly Field[] = type.children ?? [];
  if (fields.length === 0) return type;
  const children: readonly Field[] = fields.map((field) => field.clone({ type: withSqlNames(typeOf(field)) }));
  if (DataType.isStruct(type)) {
    const names = sqlNames(children.map(({ name }) => name));
    return new Struct(children.map((child, i) => child.clone({ name: names[i] ?? '' })));
  }
  const [child] = children;
  if (child === undefined) return type;
  return DataType.isMap(type) ? mapType(child, type.keysSorted) : new List(child);
}

/** Returns the fields of parameters, with the type null if the statement does not determine it. */
export function parameterSchema(types: readonly DuckType[]): Schema {
  return new Schema(
    types.map((type, i) => {
      const name = String(i + 1);
      return OPEN_TYPES.has(type.name) ? new Field(name, new Null(), true) : fieldFromDuckdb(name, type);
    }),
  );
}

const OPEN_TYPES: ReadonlySet<string> = new Set(['ANY', 'INVALID', 'SQLNULL', 'UNKNOWN']);
