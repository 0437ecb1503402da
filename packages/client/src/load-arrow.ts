import type { Table } from 'apache-arrow';
import { ClientError } from './http/client-error.ts';

/** The functions of `apache-arrow` that are used. */
export interface ArrowLibrary {
  tableFromIPC(source: AsyncIterable<Uint8Array>): Promise<Table>;
  tableToIPC(table: Table, format: 'stream'): Uint8Array;
}

/** Loads `apache-arrow`, which the user of Arrow tables has to install. */
export async function loadArrow(given: ArrowLibrary | undefined): Promise<ArrowLibrary> {
  if (given !== undefined) return given;
  try {
    return await import('apache-arrow');
  } catch (cause) {
    throw new ClientError('The package apache-arrow cannot be loaded.', {
      code: 'arrow_missing',
      hint: 'Install apache-arrow, or pass it as the option arrow.',
      cause,
    });
  }
}

/** Whether data is a table of `apache-arrow`, of whatever copy of it. */
export function isArrowTable(data: unknown): data is Table {
  return typeof data === 'object' && data !== null && 'schema' in data && 'batches' in data;
}
