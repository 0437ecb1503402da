import type { GetPlan } from './column-plans.ts';
import type { DuckType } from './duck-type.ts';

/** Whether a plan can read vectors of this type. A mismatch would misread memory. */
export function fitsPlan(type: DuckType, plan: GetPlan): boolean {
  switch (plan.kind) {
    case 'bits':
    case 'empty_struct':
      return type.name === 'BOOLEAN';
    case 'copy':
      return type.name === plan.type;
    case 'decimal':
      return 'precision' in type && type.precision === plan.precision && type.scale === plan.scale;
    case 'digits':
      return type.name === 'VARCHAR';
    case 'uuid':
      return type.name === 'UUID';
    case 'interval':
      return 'fields' in type && type.fields.map((field) => field.type.name).join() === 'INTEGER,INTEGER,BIGINT';
    case 'duckdb_interval':
      return type.name === 'INTERVAL';
    case 'decimal_bytes':
    case 'int96':
      return type.name === 'BLOB';
    case 'bytes':
      return type.name === (plan.isText ? 'VARCHAR' : 'BLOB');
    case 'list':
      return plan.isMap
        ? 'key' in type && fitsEntries([type.key, type.value], plan.item)
        : 'item' in type && type.name === 'LIST' && fitsPlan(type.item, plan.item);
    case 'struct':
      return (
        'fields' in type &&
        fitsEntries(
          type.fields.map((field) => field.type),
          plan,
        )
      );
    case 'wrapped': {
      const [field, ...others] = 'fields' in type ? type.fields : [];
      return field !== undefined && others.length === 0 && fitsPlan(field.type, plan.item);
    }
    default:
      return plan satisfies never;
  }
}

function fitsEntries(types: readonly DuckType[], plan: GetPlan): boolean {
  if (plan.kind !== 'struct' || plan.fields.length !== types.length) return false;
  return plan.fields.every((field, i) => {
    const type = types[i];
    return type !== undefined && fitsPlan(type, field);
  });
}
