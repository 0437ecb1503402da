import { Field, Null, Schema } from 'apache-arrow';
import { fitsPlan } from '../child/fits-plan.ts';
import type { GetPlan } from '../child/plans.ts';
import type { DuckType } from '../child/requests.ts';
import type { SqlAnswers } from '../child/sql-requests.ts';
import { fieldFromDuckdb, foreignColumn } from '../storage-types-duckdb.ts';

/** What the answer of a statement is, and how it is read. */
export interface AnswerPlan {
  readonly schema: Schema;
  readonly plans: readonly GetPlan[];
  /** The types that all columns are cast to, where any cannot be read as it is. */
  readonly casts?: readonly string[];
}

/** The plan for columns of DuckDB. */
export function answerPlan(columns: SqlAnswers['prepare']['columns']): AnswerPlan {
  const names = distinctNames(columns.map(({ name }) => name));
  const fields = columns.map(({ type }, i) => fieldFromDuckdb(names[i] ?? '', type));
  const foreign = fields.map((field) => foreignColumn(field));
  const isReadable = columns.every(({ type }, i) => {
    const get = foreign[i]?.get;
    return get !== undefined && fitsPlan(type, get);
  });
  return {
    schema: new Schema(fields),
    plans: foreign.map(({ get }) => get),
    ...(!isReadable && { casts: foreign.map(({ sqlType }) => sqlType) }),
  };
}

/** Names of expressions are as long as those are; columns have shorter ones, with room for a number. */
const MAX_NAME_LENGTH = 1000;

/** A frame has each name once: the later ones get numbers. */
function distinctNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  const numbers = new Map<string, number>();
  return names.map((whole) => {
    const name = whole.slice(0, MAX_NAME_LENGTH);
    let number = numbers.get(name) ?? 0;
    while (taken.has(number === 0 ? name : `${name}_${number}`)) number += 1;
    numbers.set(name, number);
    const distinct = number === 0 ? name : `${name}_${number}`;
    taken.add(distinct);
    return distinct;
  });
}

/** The fields of parameters: of the type null where the statement leaves it open. */
export function parameterSchema(types: readonly DuckType[]): Schema {
  return new Schema(
    types.map((type, i) => {
      const name = String(i + 1);
      return OPEN_TYPES.has(type.name) ? new Field(name, new Null(), true) : fieldFromDuckdb(name, type);
    }),
  );
}

const OPEN_TYPES: ReadonlySet<string> = new Set(['ANY', 'INVALID', 'SQLNULL', 'UNKNOWN']);
