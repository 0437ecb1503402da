import { quoted, ServiceError } from '@svc/errors';
import { columnTypeName } from '@svc/frames';
import { Field, Schema } from 'apache-arrow';

/** The common schema of several sources of rows, whose names and types must be equal. */
export function commonSchema(schemas: readonly Schema[]): Schema {
  const [first, ...others] = schemas;
  if (first === undefined) throw new ServiceError('invalid_argument', 'There are no rows to combine.');
  const fields = first.fields.map((field, i) => {
    const same = others.flatMap((schema) => schema.fields[i] ?? []);
    if (same.length < others.length || !same.every((other) => isSame(field, other))) {
      throw new ServiceError('invalid_data', `The column ${quoted(field.name)} differs between the combined rows.`, {
        hint: 'Columns must have the same names and types, in the same order.',
      });
    }
    const nullable = [field, ...same].some((candidate) => candidate.nullable);
    return new Field(field.name, field.type, nullable, field.metadata);
  });
  if (others.some((schema) => schema.fields.length !== first.fields.length)) {
    throw new ServiceError('invalid_data', 'The combined rows have different numbers of columns.');
  }
  return new Schema(fields, first.metadata);
}

function isSame(field: Field, other: Field): boolean {
  return field.name === other.name && nameOf(field) === nameOf(other) && String(field.type) === String(other.type);
}

/** A SYMBOL is stored as text. */
function nameOf(field: Field): string | undefined {
  const name = columnTypeName(field);
  return name === 'SYMBOL' ? 'STRING' : name;
}
