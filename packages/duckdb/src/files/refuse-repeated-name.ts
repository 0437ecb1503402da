import { ServiceError } from '@svc/errors';
import { quoted } from '@svc/errors/internal';

/** Refuses an upload with a duplicate column name. Case matters. */
export function refuseRepeatedName(format: 'CSV' | 'Parquet', names: readonly string[], hint: string): void {
  const known = new Set<string>();
  for (const name of names) {
    if (known.has(name)) {
      throw new ServiceError('invalid_data', `The ${format} file has two columns with the name ${quoted(name)}.`, {
        hint,
      });
    }
    known.add(name);
  }
}
