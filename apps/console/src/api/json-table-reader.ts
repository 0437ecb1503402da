import { createJsonTableReader as createReader } from '@svc/client/internal';
import type { TableReader } from './table-reader.ts';

/** Creates a reader of JSON tables, as `/exec` and the time-series database send them. It keeps the text of cells, so that numbers have all their digits. */
export function createJsonTableReader(): TableReader {
  const reader = createReader();
  return {
    members: reader.members,
    get columns() {
      return reader.columns;
    },
    get isComplete() {
      return reader.isComplete;
    },
    push(chunk) {
      const rows = reader.push(chunk);
      return rows.length > 0 ? [{ kind: 'json', rows, rowCount: rows.length }] : [];
    },
  };
}
