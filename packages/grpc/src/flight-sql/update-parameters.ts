import { ServiceError } from '@svc/errors';
import type { Call } from '@svc/frames';
import type { InsertStatement } from '@svc/frames/statements';
import type { Service } from '@svc/service';
import { type Field, Schema } from 'apache-arrow';
import type { ParsedStatement } from './run-update.ts';

/**
 * Returns the parameters of an `INSERT`: the columns that they are for, or those of its query. None if the caller may not know
 * the columns, and for other statements.
 */
export async function updateParameters(
  service: Service,
  call: Call,
  { update, engine }: Pick<ParsedStatement, 'engine' | 'update'>,
): Promise<Schema> {
  if (update?.kind === 'insert' && update.placeholders) return insertParameters(service, call, update);
  if (update?.kind !== 'insert') return NONE;
  return (await service.describeQuery(call, update.select, engine)).parameters;
}

const NONE = new Schema([]);

async function insertParameters(
  service: Service,
  call: Call,
  { handle, columns, placeholders = [] }: InsertStatement,
): Promise<Schema> {
  const fields = await fieldsOf(service, call, handle);
  const filled = columns?.map((name) => fields.find((field) => field.name === name)) ?? fields;
  const parameters: (Field | undefined)[] = Array.from({ length: 1 + Math.max(...placeholders) }, () => undefined);
  for (const [i, index] of placeholders.entries()) parameters[index] = filled[i];
  const isComplete = parameters.every((field) => field !== undefined);
  return isComplete ? new Schema(parameters.map((field, i) => field.clone({ name: `${i + 1}` }))) : NONE;
}

async function fieldsOf(service: Service, call: Call, handle: string): Promise<readonly Field[]> {
  try {
    const reading = await service.readFrame(call, handle, { limit: 0 });
    reading.close();
    return reading.stream.schema.fields;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'permission_denied') return [];
    throw error;
  }
}
