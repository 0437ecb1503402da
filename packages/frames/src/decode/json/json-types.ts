import { Bool, type DataType, Field, Float64, Int64, List, Schema, Struct, Uint64, Utf8 } from 'apache-arrow';
import { itemsOf, type JsonColumn, TAG } from './json-column.ts';

/** The type that a column of JSON values becomes. */
export type JsonColumnKind = 'bool' | 'long' | 'ulong' | 'double' | 'string' | 'text' | 'list' | 'struct';

const NULL = 1 << TAG.null;
const BOOL = (1 << TAG.true) | (1 << TAG.false);
const SIGNED = (1 << TAG.long) | (1 << TAG.negative);
const UNSIGNED = (1 << TAG.long) | (1 << TAG.ulong);
const DOUBLE = 1 << TAG.double;
const NUMBER = SIGNED | UNSIGNED | (1 << TAG.big) | DOUBLE;

/**
 * Returns the type of a column, by its values:
 * - only booleans, strings, arrays or objects: that type;
 * - integers: LONG; ULONG if some need 64 bits unsigned and none is negative;
 * - integers and other numbers: DOUBLE, unless an integer would change;
 * - only null: STRING;
 * - any other mix, and integers that do not fit in 64 bits: STRING. Numbers are then as they were written, and arrays
 *   and objects are compact JSON (without keys whose value is null).
 */
export function kindOf({ kinds, hasInexact }: JsonColumn): JsonColumnKind {
  const only = (bits: number) => (kinds & ~(bits | NULL)) === 0;
  if (only(1 << TAG.string)) return 'string';
  if (only(BOOL)) return 'bool';
  if (only(SIGNED)) return 'long';
  if (only(UNSIGNED)) return 'ulong';
  if (only(NUMBER) && (kinds & DOUBLE) !== 0 && !hasInexact) return 'double';
  if (only(1 << TAG.list)) return 'list';
  if (only(1 << TAG.struct)) return 'struct';
  return 'text';
}

/** Returns the schema of the columns. All are nullable. */
export function schemaOf(columns: readonly JsonColumn[]): Schema {
  return new Schema(columns.map(fieldOf));
}

function fieldOf(column: JsonColumn): Field {
  return column.target?.field ?? new Field(column.name, typeOf(column), true);
}

function typeOf(column: JsonColumn): DataType {
  switch (kindOf(column)) {
    case 'bool':
      return new Bool();
    case 'long':
      return new Int64();
    case 'ulong':
      return new Uint64();
    case 'double':
      return new Float64();
    case 'list':
      return new List(fieldOf(itemsOf(column)));
    case 'struct':
      return new Struct(column.fields.list.map(fieldOf));
    case 'string':
    case 'text':
    default:
      return new Utf8();
  }
}
